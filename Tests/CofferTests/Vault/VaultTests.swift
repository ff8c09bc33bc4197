import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Locking and status of a vault")
struct VaultTests {
    private let low = ProtectionClass.afterFirstUnlockThisDeviceOnly

    @Test("Before the first unlock, tokens can be stored but not read")
    func beforeTheFirstUnlockNothingIsReadable() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse")
        let id = try TokenID(service: "s", account: "a")
        try await made.tokens.put(Token(copying: "value"), for: id, class: low)
        let session = try await home.open()
        let read = await refusal { _ = try await session.tokens.withToken(for: id) { _, _ in } }
        #expect(read?.code == .locked)
        // Storing works, reading what was stored does not.
        #expect(try await session.tokens.put(Token(copying: "x"), for: id) == .queued)
        #expect(await refusal { _ = try await session.tokens.list() }?.code == .locked)
        #expect(try await session.tokens.count() == 1)
    }

    @Test("A lock keeps tokens of afterFirstUnlock readable until the session closes")
    func lockKeepsAfterFirstUnlockUntilClose() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let high = try TokenID(service: "high", account: "a")
        let low = try TokenID(service: "low", account: "a")
        try await session.tokens.put(Token(copying: "value"), for: high)
        try await session.tokens.put(Token(copying: "value"), for: low, class: self.low)
        session.lock()
        #expect(!session.isUnlocked)
        let refused = await refusal { _ = try await session.tokens.withToken(for: high) { _, _ in } }
        #expect(refused?.code == .locked)
        #expect(try await session.tokens.withToken(for: low) { token, _ in token.count } == 5)
        try await session.tokens.put(Token(copying: "newer"), for: low, class: self.low)
        #expect(try await session.tokens.put(Token(copying: "x"), for: high) == .queued)
        session.close()
        let closed = await refusal { _ = try await session.tokens.withToken(for: low) { _, _ in } }
        #expect(closed?.code == .locked)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(try await session.tokens.withToken(for: low) { _, info in info.version } == 2)
    }

    @Test("The inactivity time of the home locks the session")
    func theIdleTimeOfTheHomeHolds() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = .seconds(60) }
        let session = try await home.create("correct horse", options: options, clock: clock.source)
        #expect(session.isUnlocked)
        clock.advance(by: .seconds(60))
        #expect(!session.isUnlocked)
        #expect(try await session.status().inactivityMinutes == 1)
    }

    @Test("A lock ends long work on a file")
    func aLockStopsLongWork() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try home.scratch.write("big", [UInt8](repeating: 7, count: 24 << 20))
        let path = home.scratch.path.appending("big")
        let error = await refusal {
            _ = try await session.files.add(contentsOf: path) { _ in session.lock() }
        }
        #expect(error?.code == .locked)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path("files").string).isEmpty)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        let id = try await session.files.add(contentsOf: path)
        let verified = await refusal { try await session.files.verify(id) { _ in session.lock() } }
        #expect(verified?.code == .locked)
    }

    @Test("The status is available without an unlock")
    func statusTellsWithoutUnlocking() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse")
        try await made.tokens.put(Token(copying: "value"), for: TokenID(service: "s", account: "a"))
        let status = try await Vault.status(at: home.location)
        #expect(status.state == .locked)
        #expect(status.vaultID == made.vaultID)
        #expect(status.hasPasscode)
        #expect(status.attemptsLeft == 10)
        #expect(status.tokens == 1)
        #expect(status.files == 0)
    }

    @Test("The security checks report missing and partial protections")
    func protectionsAreToldHonestly() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let names = try await session.securityChecks()
        #expect(names.first { $0.name == "passcode" }?.status == .missing)
        #expect(names.first { $0.name == "attempts" }?.status == .missing)
        #expect(names.first { $0.name == "device-key" }?.status == .advisory)
        #expect(names.first { $0.name == "disk" }?.status != .missing)
        try await session.changePasscode(to: Passcode(copying: "correct horse"), current: nil)
        let protected = try await session.securityChecks()
        #expect(protected.first { $0.name == "passcode" }?.status == .ok)
        #expect(protected.first { $0.name == "attempts" }?.status == .advisory)
    }
}

/// Keys cached in the kernel keyring. Every test removes those that it cached.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite(
    "Keys cached in the kernel keyring",
    .serialized, .enabled(if: KernelKeyring.isAvailable, "there is no kernel keyring here"))
struct KernelKeyCacheTests {
    private let id = try? TokenID(service: "s", account: "a")

    @Test("The next session restores the cached keys")
    func theNextSessionFindsThem() async throws {
        let home = try TestHome()
        let first = try await home.create("correct horse")
        defer { first.close() }
        let id = try #require(id)
        try await first.tokens.put(Token(copying: "value"), for: id)
        try await first.cacheKeysInKernel()
        let second = try await home.open()
        #expect(try await Vault.status(at: home.location).state == .unlocked)
        #expect(try await second.restoreCachedKeys())
        #expect(try await second.tokens.withToken(for: id) { token, _ in token.count } == 5)
    }

    @Test("A lock removes the cached keys that end with it, and closing the rest")
    func lockTakesBackWhatLocksAndCloseTheRest() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        defer { session.close() }
        try await session.cacheKeysInKernel()
        let names = ProtectionClass.allCases.map { KernelKeyCache.name($0, vaultID: session.vaultID) }
        func held() -> [Bool] { names.map { (try? KernelKeyring.read($0)?.count) != nil } }
        #expect(held() == [true, true, true, true, true])
        session.lock()
        #expect(held() == [false, true, false, false, true])
        let other = try await home.open()
        #expect(try await !other.restoreCachedKeys())
        session.close()
        #expect(!held().contains(true))
    }

    @Test("Keys in the kernel keyring end with their time, by the kernel's own clock")
    func theirTimeRunsOut() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        defer { session.close() }
        try await session.cacheKeysInKernel(for: .seconds(1))
        // Read without renewing it.
        let name = KernelKeyCache.name(.whenUnlockedThisDeviceOnly, vaultID: session.vaultID)
        #expect(await eventually { (try? KernelKeyring.read(name)?.count) == nil })
        #expect(try await !home.open().restoreCachedKeys())
    }

    @Test("After a reboot, a session restores no cached key of any class")
    func anotherBootDoesNotFindThem() async throws {
        let clock = TestClock()
        let home = try TestHome()
        let session = try await home.create("correct horse", clock: clock.source)
        defer { session.close() }
        try await session.cacheKeysInKernel()
        #expect(try await home.open(clock: clock.source).restoreCachedKeys())
        clock.reboot()
        let other = try await home.open(clock: clock.source)
        #expect(try await !other.restoreCachedKeys() && !other.hasKeys)
    }

    @Test("A locked session has no keys to cache")
    func aLockedSessionHasNothingToLend() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let session = try await home.open()
        #expect(await refusal { try await session.cacheKeysInKernel() }?.code == .locked)
    }

    @Test("A wipe removes the cached keys of every class")
    func aWipeTakesThemBack() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        defer { session.close() }
        try await session.cacheKeysInKernel()
        _ = try await session.wipe()
        for protection in ProtectionClass.allCases {
            let name = KernelKeyCache.name(protection, vaultID: session.vaultID)
            let isGone = try KernelKeyring.read(name) == nil
            #expect(isGone)
        }
    }
}
