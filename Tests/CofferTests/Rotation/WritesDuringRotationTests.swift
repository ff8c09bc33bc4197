@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import CofferVault
import SystemPackage
import TestSupport
import Testing

/// Writes of one process while another one replaces the vault's keys.
@Suite("Writes beside a rotation of keys")
struct WritesDuringRotationTests {
    private static let passcode = "correct horse"

    private func id(_ account: String) throws -> TokenID { try TokenID(service: "s", account: account) }

    private func read(_ vault: Vault, _ id: FileID, _ context: [UInt8] = []) async throws -> [UInt8] {
        try await vault.files.withDecryptedBytes(of: id, context: context) { $0.copied() }
    }

    /// Adds a file through `vault`, and calls `body` when half of it is read.
    private func add(
        _ vault: Vault, _ name: String, _ context: [UInt8] = [], isVolatile: Bool = false,
        meanwhile body: () throws(CofferError) -> Void
    ) throws -> FileID {
        let file = FileStore.NewFile(
            name: try #require(FilePath.Component(name)), protection: nil, suite: .chaCha20Poly1305,
            context: context, isVolatile: isVolatile, allowsExternalMedia: false)
        var isFirst = true
        return try vault.files.add(file, modified: 0, {}) { (buffer) throws(CofferError) in
            guard isFirst else { return 0 }
            isFirst = false
            try body()
            buffer[0] = 7
            return 1
        }
    }

    @Test("Without a passcode, a process whose keys were replaced takes the new ones from the keybag")
    func withoutPasscode() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let other = try await home.unlocked()
        let old = other.core.keys.all.mapValues(\.id)
        let session = try await other.files.add([3], name: "session", isVolatile: true)
        try await other.tokens.put(Token(copying: "in memory"), for: id("memory"), isEphemeral: true)
        #expect(try await vault.rotateKeys().isComplete)
        let file = try await other.files.add([1], name: "x")
        for reader in [other, vault] { #expect(try await read(reader, file) == [1]) }
        #expect(try await other.tokens.put(Token(copying: "v"), for: id("a")) == .stored(version: 1))
        #expect(try await vault.tokens.get(id("a"))?.string == "v")
        #expect(try await other.tokens.get(id("memory"))?.string == "in memory")
        #expect(try await read(other, session) == [3])
        let keybag = try home.keybag()
        for (protection, key) in other.core.keys.all {
            #expect(key.id == keybag.keys[protection]?.id && key.id != old[protection] && key.former == nil)
        }
        // A lock is still a lock, also after a further rotation.
        other.lock()
        #expect(try await vault.rotateKeys().isComplete)
        #expect(await refusal { _ = try await other.files.add([1], name: "y") }?.code == .locked)
    }

    @Test(
        "A class whose keys were locked in the kernel keyring does not come back with a rotation",
        .enabled(if: KernelKeyring.isAvailable))
    func lockedInKernel() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        defer { vault.close() }
        try await vault.cacheKeysInKernel()
        let other = try await home.open()
        #expect(try await other.restoreCachedKeys())
        vault.lock()
        try await vault.unlock()
        #expect(try await vault.rotateKeys().isComplete)
        try other.core.refreshKeys()
        #expect(!other.isUnlocked)
        let error = await refusal { _ = try await other.files.add([1], name: "x") }
        #expect(error?.code == .locked)
    }

    @Test(
        "A file whose keys are replaced while it is read is stored under the new ones",
        arguments: [[], [7]])
    func file(_ context: [UInt8]) async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let other = try await home.unlocked()
        let protection = ProtectionClass.standard
        let file = try add(other, "x", context) { () throws(CofferError) in
            try KeyRotation(vault.core, vault.files).begin(nil, passcode: nil, newPasscode: nil)
        }
        let keys = try FileKeysetRecord(device: vault.core.device).read(in: home.directory().openVault()).keys
        let container = try Descriptor.open(home.path("files/\(file).coffer"), .read)
        let used = try ContainerRewrap(device: vault.core.device, keys: keys).keysUsed(by: container)
        let current = try keys.currentInner(
            protection, classKey: vault.core.keys.key(protection), vaultID: vault.core.device.vaultID)
        let inner = try #require(current)
        #expect(used.contains(inner.id) && used.count == 2)
        #expect(try await vault.resumeKeyRotation()?.isComplete == true)
        for reader in [other, vault] { #expect(try await read(reader, file, context) == [7]) }
        #expect(try await vault.files.list().map(\.id) == [file])
        // Nothing is left under the former keys.
        let old = try #require(other.core.keys.all[protection])
        #expect(old.former == nil)
        #expect(try !home.keybag().isRotating)
    }

    @Test("New content of a file whose keys are replaced meanwhile is stored under the new ones")
    func content() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let file = try await vault.files.add([1], name: "x")
        let other = try await home.unlocked()
        let reader = try other.files.open(file)
        try other.files.replaceContent(of: reader, [], check: {}) {
            (writer, target, name) throws(CofferError) in
            try KeyRotation(vault.core, vault.files).begin(nil, passcode: nil, newPasscode: nil)
            return try writer.seal(
                pieces: { (_) throws(CofferError) in 0 }, name: name, modified: 0, into: target, check: {})
        }
        #expect(try await vault.resumeKeyRotation()?.isComplete == true)
        for reader in [other, vault] { #expect(try await read(reader, file).isEmpty) }
        #expect(try await vault.files.verifyAll().isClean)
    }

    @Test("With a passcode, the error says that the keys were replaced, and nothing is left of the file")
    func withPasscode() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let other = try await home.unlocked(Self.passcode)
        let secret = try Passcode(copying: Self.passcode)
        let error = await refusal {
            _ = try add(other, "x") { () throws(CofferError) in
                try KeyRotation(vault.core, vault.files).begin(nil, passcode: secret, newPasscode: nil)
            }
        }
        #expect(error?.code == .locked && error?.remedy == .unlockAgain)
        #expect(await refusal { _ = try await other.files.add([1], name: "x") }?.remedy == .unlockAgain)
        #expect(try await vault.resumeKeyRotation()?.isComplete == true)
        #expect(try await vault.files.list().isEmpty)
        #expect(try await vault.files.count() == 0)
        #expect(try await vault.status().unfinishedFiles == 0)
        // A lock that the owner asked for is called that.
        other.lock()
        #expect(await refusal { _ = try await other.files.add([1], name: "x") }?.remedy == .unlockVault)
        try await other.unlock(with: secret)
        let file = try await other.files.add([1], name: "x")
        #expect(try await read(vault, file) == [1])
    }
}
