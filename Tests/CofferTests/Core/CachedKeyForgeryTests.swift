@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

/// Other programs of the user can put bytes into the kernel keyring; none becomes a key of the vault.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite(
    "Keys that other programs put into the kernel keyring",
    .serialized,
    .enabled(if: KernelKeyring.isAvailable))
struct CachedKeyForgeryTests {
    private static let passcode = "correct horse"

    private func content(_ name: String) throws -> [UInt8]? {
        let secret = try KernelKeyring.read(name)
        switch secret {
        case .some(let secret): return secret.span.copied()
        case .none: return nil
        }
    }

    private func plant(_ bytes: [UInt8], _ name: String) throws {
        try KernelKeyring.store(GuardedBytes.copying(bytes.span), description: name, timeout: 600)
    }

    private func names(_ session: Vault) -> [String] {
        ProtectionClass.allCases.map { KernelKeyCache.name($0, vaultID: session.vaultID) }
    }

    @Test("A planted key unlocks nothing, seals nothing and stays where it is")
    func planted() async throws {
        let home = try TestHome()
        let made = try await home.create(Self.passcode)
        defer { made.close() }
        made.lock()
        made.close()
        let id = try TokenID(service: "s", account: "a")
        let boot = VaultClock.system.bootIdentifier()
        for name in names(made) {
            try KernelCachedKey.store(
                SymmetricKey.random(), name: name, timeout: 600, isRenewable: true, boot: boot,
                now: VaultClock.system.bootTime())
        }
        let before = try names(made).map(content)
        let session = try await home.open()
        #expect(try await Vault.status(at: home.location).state == .locked)
        #expect(try await !session.restoreCachedKeys())
        #expect(!session.hasKeys)
        #expect(try await session.tokens.put(Token(copying: "value"), for: id) == .queued)
        #expect(failure { _ = try session.core.keys.key(.afterFirstUnlock) } == .locked)
        #expect(try names(made).map(content) == before)
        // The value that waited is sealed to the vault's own key.
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(try await session.tokens.withToken(for: id) { token, _ in token.count } == 5)
    }

    @Test("A session restores the genuine keys next to a planted one")
    func oneOfMany() async throws {
        let home = try TestHome()
        let made = try await home.create(Self.passcode)
        defer { made.close() }
        try await made.cacheKeysInKernel()
        let name = KernelKeyCache.name(.whenUnlocked, vaultID: made.vaultID)
        try KernelCachedKey.store(
            SymmetricKey.random(), name: name, timeout: 600, isRenewable: true,
            boot: VaultClock.system.bootIdentifier(), now: VaultClock.system.bootTime())
        let session = try await home.open()
        #expect(try await session.restoreCachedKeys())
        #expect(Set(session.core.keys.all.keys) == Set(ProtectionClass.allCases).subtracting([.whenUnlocked]))
        let error = failure { _ = try session.core.keys.key(.whenUnlocked) }
        #expect(error == .locked)
        // The session that put the keys there sees that one of them is gone, and only that one.
        #expect(made.core.cachedKeys.expired.classes == [.whenUnlocked])
        #expect(!made.core.cachedKeys.expired.isEverything)
    }

    @Test("A cached key with one changed byte, another size or another name is not read")
    func changed() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        defer { session.close() }
        try await session.cacheKeysInKernel(for: .seconds(500))
        let name = KernelKeyCache.name(.whenUnlockedThisDeviceOnly, vaultID: session.vaultID)
        let whole = try #require(try content(name))
        let (boot, now) = (VaultClock.system.bootIdentifier(), VaultClock.system.bootTime())
        func isRead(_ name: String) throws -> Bool {
            try KernelCachedKey.read(name: name, boot: boot, now: now) != nil
        }
        for position in whole.indices {
            var bytes = whole
            bytes[position] ^= 1
            try plant(bytes, name)
            #expect(try !isRead(name), "byte \(position)")
        }
        for shorter in [0, 1, 31, 32, 77, whole.count - 1] {
            try plant(Array(whole.prefix(max(1, shorter))), name)
            #expect(try !isRead(name), "\(shorter) bytes")
        }
        try plant(whole + [0], name)
        #expect(try !isRead(name))
        try plant(whole, name)
        #expect(try isRead(name))
        let other = KernelKeyCache.name(.whenUnlocked, vaultID: session.vaultID)
        try plant(whole, other)
        #expect(try !isRead(other))
    }

    @Test("A session does not restore keys in the unbound layout of an earlier release")
    func earlierLayout() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        defer { session.close() }
        try await session.cacheKeysInKernel()
        for name in names(session) {
            let marks: [UInt8] = [1] + UInt64.max.bigEndianBytes
            let key = try #require(try content(name)).prefix(32)
            try plant(key + marks + Array(VaultClock.system.bootIdentifier().utf8), name)
        }
        let other = try await home.open()
        #expect(try await !other.restoreCachedKeys() && !other.hasKeys)
    }

    @Test("A keybag without public keys restores nothing until an upgrade completes it")
    func earlierKeybag() async throws {
        let home = try TestHome()
        let made = try await home.create(Self.passcode)
        defer { made.close() }
        try await made.cacheKeysInKernel()
        let vault = try made.core.home.openVault()
        try made.core.updateKeybag(in: vault) { (keybag) throws(CofferError) in keybag.publicKeys = [:] }
        let session = try await home.open()
        #expect(try await !session.restoreCachedKeys() && !session.hasKeys)
        #expect(try await session.status().state == .locked)
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(try await !home.open().restoreCachedKeys())
        let refused = await refusal { try await session.cacheKeysInKernel() }
        #expect(refused?.code == .unsupported && refused?.remedy == .upgradeVault)
        _ = try await session.upgrade(passcode: Passcode(copying: Self.passcode), requiringBackup: false)
        #expect(try await home.open().restoreCachedKeys())
    }

    @Test("A planted or moved entry of the volatile token keyring is ignored")
    func ring() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        defer { session.close() }
        session.shareEphemeralTokens()
        let id = try TokenID(service: "s", account: "a")
        let name = try id.keyedHash(session.core.device.nameKey().key)
        let text = HexText.encode(name)
        try await session.tokens.put(Token(copying: "older"), for: id)
        let older = try #require(try session.core.storage.envelope(name))
        try await session.tokens.put(Token(copying: "newest"), for: id)
        func value() async throws -> String? {
            try await session.tokens.withToken(for: id) { token, _ in
                token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
            }
        }
        let ring = try KernelSubkeyring.make(KernelKeyringStorage.name(session.vaultID))
        for planted in [older, older + [UInt8](repeating: 0, count: 32), [1], []] {
            let bytes = planted.isEmpty ? [UInt8](repeating: 7, count: 33) : planted
            try ring.store(GuardedBytes.copying(bytes.span), description: text)
            #expect(try await value() == "newest")
            #expect(try await session.tokens.list().map(\.isEphemeral) == [false])
            #expect(try session.core.ephemeralTokens.count() == 0)
        }
        try ring.remove(text)
        // A sealed entry of one name is none under another.
        let other = try TokenID(service: "s", account: "b")
        try await session.tokens.put(Token(copying: "volatile"), for: other, isEphemeral: true)
        let otherName = try other.keyedHash(session.core.device.nameKey().key)
        let otherText = HexText.encode(otherName)
        let entry = try ring.read(otherText)
        switch entry {
        case .some(let entry): try ring.store(entry, description: text)
        case .none: Issue.record("nothing was stored")
        }
        #expect(try await value() == "newest")
        #expect(try session.core.ephemeralTokens.count() == 1)
    }
}
