@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Changes of the token file that another program makes.
@Suite("The token file under outside changes")
struct TokenFileTests {
    private func filled() async throws -> (home: TestHome, session: Vault, keyring: TokenFile) {
        let home = try TestHome()
        let session = try await home.create()
        try await session.tokens.put(Token(copying: "value"), for: TokenID(service: "s", account: "a"))
        return (home, session, TokenFile(device: session.core.device))
    }

    @Test("The reader refuses a flipped bit in any byte")
    func everyFlippedByteIsRefused() async throws {
        let (home, session, keyring) = try await filled()
        let good = try home.read("tokens")
        let vault = try session.core.home.openVault()
        for offset in good.indices {
            for bit in [UInt8(offset % 8), 7] {
                var damaged = good
                damaged[offset] ^= 1 << bit
                try home.write("tokens", damaged)
                let code = failure { _ = try keyring.read(in: vault) }
                let isVersion = (8..<10).contains(offset) && code == .unsupportedVersion
                let isVault = (16..<32).contains(offset) && code == .foreign
                #expect(code == .corrupt || isVersion || isVault, "byte \(offset)")
            }
        }
        try home.write("tokens", good)
        #expect(try await home.unlocked().tokens.count() == 1)
    }

    @Test("The reader refuses every truncated or extended file")
    func everyTruncationAndExtensionIsRefused() async throws {
        let (home, session, keyring) = try await filled()
        let good = try home.read("tokens")
        let vault = try session.core.home.openVault()
        for count in 0..<good.count {
            try home.write("tokens", Array(good.prefix(count)))
            #expect(failure { _ = try keyring.read(in: vault) } == .corrupt, "\(count) bytes")
        }
        for more in [1, 16, 4096] {
            try home.write("tokens", good + [UInt8](repeating: 0, count: more))
            #expect(failure { _ = try keyring.read(in: vault) } == .corrupt)
        }
    }

    @Test("A session notices new damage and does not overwrite it")
    func damageIsNotWrittenOver() async throws {
        let (home, session, _) = try await filled()
        var damaged = try home.read("tokens")
        damaged[100] ^= 1
        try FileManager.default.removeItem(atPath: home.path("tokens").string)
        try home.write("tokens", damaged)
        let id = try TokenID(service: "s", account: "b")
        #expect(await refusal { _ = try await session.tokens.list() }?.code == .corrupt)
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: id) }?.code == .corrupt)
        #expect(try home.read("tokens") == damaged)
        try home.remove("tokens")
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: id) }?.code == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: home.path("tokens").string))
    }

    /// Envelopes are bound to their names: swapping two tokens inside the sealed file does not go unnoticed.
    @Test("Swapped envelopes in the sealed file are refused")
    func swappedEnvelopesAreRefused() async throws {
        let (home, session, keyring) = try await filled()
        try await session.tokens.put(Token(copying: "other"), for: TokenID(service: "s", account: "b"))
        let vault = try session.core.home.openVault()
        var contents = try keyring.read(in: vault).contents
        let names = Array(contents.envelopes.keys)
        let first = contents.envelopes[names[0]]
        contents.envelopes[names[0]] = contents.envelopes[names[1]]
        contents.envelopes[names[1]] = first
        try keyring.write(contents, in: vault)
        let opened = try await home.unlocked()
        #expect(await refusal { _ = try await opened.tokens.list() }?.code == .corrupt)
    }

    @Test("Damaged or truncated envelopes are refused")
    func damagedEnvelopesAreRefused() async throws {
        let (home, session, keyring) = try await filled()
        let vault = try session.core.home.openVault()
        let good = try keyring.read(in: vault).contents
        let name = try #require(good.envelopes.keys.first)
        let envelope = try #require(good.envelopes[name])
        let opened = try await home.unlocked()
        func read(_ damaged: [UInt8]) async throws -> CofferError.Code? {
            var contents = good
            contents.envelopes[name] = damaged
            try keyring.write(contents, in: vault)
            return await refusal {
                _ = try await opened.tokens.withToken(for: TokenID(service: "s", account: "a")) { _, _ in }
            }?.code
        }
        for offset in stride(from: 0, to: envelope.count, by: 5) {
            var damaged = envelope
            damaged[offset] ^= 1 << UInt8(offset % 8)
            let code = try await read(damaged)
            #expect(code == .corrupt || code == .unsupportedVersion && offset < 12, "byte \(offset)")
        }
        for count in stride(from: 0, to: envelope.count, by: 9) {
            #expect(try await read(Array(envelope.prefix(count))) == .corrupt)
        }
        #expect(try await read(envelope) == nil)
    }

    /// Takes every block and inode that is left.
    private func fill(_ folder: FilePath) throws {
        let full = try Descriptor.open(folder, [.read, .directory]).open("filler", [.readWrite, .exclusive])
        let block = [UInt8](repeating: 1, count: 4096)
        var offset: Int64 = 0
        let code = failure {
            while offset < 64 << 20 {
                try full.write(block.span, at: offset)
                offset += 4096
            }
        }
        #expect(code == .noSpace)
    }

    /// An erasure on a full disk overwrites the existing file. Afterwards, no session returns an erased token
    /// from memory.
    @Test("An erasure on a full disk overwrites the file in place", arguments: [false, true])
    func anErasureNeedsNoSpace(_ isSparing: Bool) async throws {
        guard let disk = try TinyFileSystem.make(kibibytes: 1024) else { return }
        let folder = try disk.open().path
        let location = VaultLocation(path: folder.appending("home"))
        let session = try await Vault.create(at: location, options: TestHome.options(), passcode: nil)
        let id = try TokenID(service: "s", account: "a")
        let key = try DatabaseKeyNaming.id("user", "drafts")
        for account in 0..<6 {
            try await session.tokens.put(
                Token(copying: [UInt8](repeating: 9, count: 20_000)),
                for: TokenID(service: "s", account: "\(account)"))
        }
        try await session.tokens.put(Token(copying: "value"), for: id)
        if isSparing {
            try await session.tokens.putReserved(
                Token(copying: "kept"), for: key, class: .whenUnlockedThisDeviceOnly)
            let directory = session.vaultDirectory.pushing(DatabaseKeyNaming.directory)
            try FileManager.default.createDirectory(
                atPath: directory.string, withIntermediateDirectories: false)
            _ = FileManager.default.createFile(
                atPath: directory.appending(DatabaseKeyNaming.file("user", "drafts")).string, contents: nil)
        }
        // As another process has them: read, and in memory.
        let other = try await Vault(at: location)
        try await other.unlock()
        #expect(try await other.tokens.withToken(for: id) { token, _ in token.count } == 5)
        let path = location.path.appending("vault").appending("tokens").string
        let old = [UInt8](try Data(contentsOf: URL(filePath: path)))
        try fill(folder)

        let receipt = try await session.wipe(.tokens)
        #expect(receipt.removed["tokens"] == 7)
        for session in [session, other] {
            #expect(try await session.tokens.withToken(for: id) { token, _ in token.count } == nil)
            #expect(try await session.tokens.list().count == (isSparing ? 1 : 0))
        }
        let new = [UInt8](try Data(contentsOf: URL(filePath: path)))
        #expect(new.count < 1000 && !new.contains(Array(old[64..<96])))
        if isSparing {
            #expect(try await other.tokens.withToken(for: key) { token, _ in token.count } == 4)
        }
        // And it goes on once there is room.
        try FileManager.default.removeItem(atPath: folder.appending("filler").string)
        try await other.tokens.put(Token(copying: "new"), for: id)
        #expect(try await session.tokens.withToken(for: id) { token, _ in token.count } == 3)
        extendLifetime(disk)
    }

    /// Interrupted while the old file was overwritten in place: the file beside it has the spared keys, and
    /// anything that another program put there is erased like the rest.
    @Test("An interrupted erasure keeps the database keys that it spared", arguments: [false, true])
    func anErasureThatWasCutKeepsWhatItSpared(_ isPlanted: Bool) async throws {
        let (home, session, keyring) = try await filled()
        let key = try DatabaseKeyNaming.id("user", "drafts")
        try await session.tokens.putReserved(
            Token(copying: "kept"), for: key, class: .whenUnlockedThisDeviceOnly)
        let directory = session.vaultDirectory.pushing(DatabaseKeyNaming.directory)
        try FileManager.default.createDirectory(
            atPath: directory.string, withIntermediateDirectories: false)
        _ = FileManager.default.createFile(
            atPath: directory.appending(DatabaseKeyNaming.file("user", "drafts")).string, contents: nil)
        let whole = try home.read("tokens")
        let vault = try session.core.home.openVault()
        var contents = try keyring.read(in: vault).contents
        let name = try session.tokens.name(of: key)
        contents.envelopes = contents.envelopes.filter { $0.key == name }
        try keyring.write(contents, in: vault)
        let spared = try home.read("tokens")
        try home.write("tokens-erased", isPlanted ? whole : spared)
        try home.write("tokens", spared + whole[spared.count...])
        _ = try await Vault.wipe(.tokens, at: home.location)
        let opened = try await home.unlocked()
        #expect(try await opened.tokens.withToken(for: key) { token, _ in token.count } == 4)
        #expect(try await opened.tokens.count() == 1)
        #expect(try await opened.tokens.info(for: TokenID(service: "s", account: "a")) == nil)
        #expect(!FileManager.default.fileExists(atPath: home.path("tokens-erased").string))
    }

    @Test("After an erasure, other sessions no longer return a token they had read")
    func anErasureReachesWhatOthersRead() async throws {
        let (home, session, _) = try await filled()
        let id = try TokenID(service: "s", account: "a")
        let other = try await home.unlocked()
        #expect(try await other.tokens.withToken(for: id) { token, _ in token.count } == 5)
        _ = try await Vault.wipe(.tokens, at: home.location)
        for session in [session, other] {
            #expect(try await session.tokens.withToken(for: id) { token, _ in token.count } == nil)
            #expect(try await session.tokens.info(for: id) == nil)
        }
    }

    @Test("Creation on a full disk fails and leaves no vault")
    func aFullDiskLosesNothing() async throws {
        guard let disk = try TinyFileSystem.make() else { return }
        let location = VaultLocation(path: try disk.open().path.appending("home"))
        let error = await refusal {
            _ = try await Vault.create(at: location, options: TestHome.options(), passcode: nil)
        }
        #expect(error?.code == .noSpace)
        #expect(await refusal { _ = try await Vault(at: location) }?.code == .notInitialised)
        extendLifetime(disk)
    }
}
