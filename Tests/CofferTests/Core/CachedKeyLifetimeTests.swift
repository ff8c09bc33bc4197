@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Synchronization
import SystemPackage
import Testing
import TestSupport

/// How long keys stay: an exact time is a property of the key, and no class keeps another.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite("The lifetime of cached keys", .serialized)
struct CachedKeyLifetimeTests {
    private static let passcode = "correct horse"
    private let device = ProtectionClass.whenUnlockedThisDeviceOnly

    private func make(_ home: TestHome, _ clock: TestClock) async throws -> Vault {
        let options = TestHome.options { $0.inactivity = .seconds(600) }
        return try await home.create(Self.passcode, options: options, clock: clock.source)
    }

    private func ends(_ session: Vault, _ clock: TestClock) throws -> [ProtectionClass: Duration] {
        let keybag = try session.core.readKeybag()
        return try KernelKeyCache(vaultID: session.vaultID, inactivity: nil, clock: clock.source).read(keybag)
            .terms
            .compactMapValues(\.end)
    }

    @Test(
        "A session with renewable keys does not renew exact ones that replaced them",
        .enabled(if: KernelKeyring.isAvailable))
    func exactStays() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "value"), for: id)
        try await session.cacheKeysInKernel()
        let other = try await home.open(clock: clock.source)
        #expect(try await other.restoreCachedKeys())
        try await session.cacheKeysInKernel(for: .seconds(300))
        let before = try ends(session, clock)
        clock.advance(by: .seconds(100))
        #expect(try await other.tokens.withToken(for: id) { token, _ in token.count } == 5)
        #expect(try ends(session, clock) == before)
        #expect(before[device] == clock.source.bootTime() + .seconds(200))
        let ring = KernelKeyringStorage.name(session.vaultID)
        #expect(try #require(KernelKeys.secondsLeft(ring)) <= 300)
        clock.advance(by: .seconds(200))
        #expect(try await !home.open(clock: clock.source).restoreCachedKeys())
    }

    @Test("The status says how long cached keys stay", .enabled(if: KernelKeyring.isAvailable))
    func timeLeft() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        #expect(try await session.status().timeLeft == nil)
        try await session.cacheKeysInKernel(for: .seconds(300))
        #expect(try await session.status().timeLeft == Duration.seconds(300))
        clock.advance(by: .seconds(100))
        #expect(try await session.status().timeLeft == Duration.seconds(200))
        try await session.cacheKeysInKernel()
        #expect(try await session.status().timeLeft == Duration.seconds(600))
        session.lock()
        #expect(try await session.status().timeLeft == nil)
    }

    @Test(
        "Keys restored with an exact end expire then and cannot be cached for longer",
        .enabled(if: KernelKeyring.isAvailable))
    func exactHere() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        try await session.cacheKeysInKernel(for: .seconds(300))
        let other = try await home.open(clock: clock.source)
        #expect(try await other.restoreCachedKeys())
        #expect(await refusal { try await other.cacheKeysInKernel() }?.code == .locked)
        #expect(await refusal { try await other.cacheKeysInKernel(for: .seconds(301)) }?.code == .locked)
        #expect(!other.canCacheKeys(for: nil) && other.canCacheKeys(for: .seconds(300)))
        clock.advance(by: .seconds(200))
        _ = try other.core.keys.key(device)
        try await other.cacheKeysInKernel(for: .seconds(100))
        clock.advance(by: .seconds(100))
        #expect(!other.isUnlocked)
        #expect(failure { _ = try other.core.keys.key(device) } == .locked)
        // With the passcode they are its own, whatever is held elsewhere.
        try await other.unlock(with: Passcode(copying: Self.passcode))
        try await session.unlock(with: Passcode(copying: Self.passcode))
        try await session.cacheKeysInKernel(for: .seconds(400))
        #expect(try await other.restoreCachedKeys())
        clock.advance(by: .seconds(401))
        #expect(other.isUnlocked && other.canCacheKeys(for: nil))
    }

    @Test(
        "Restored keys cannot be cached for longer than the inactivity time without the passcode",
        .enabled(if: KernelKeyring.isAvailable))
    func longer() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        try await session.cacheKeysInKernel()
        let other = try await home.open(clock: clock.source)
        #expect(try await other.restoreCachedKeys())
        let before = try ends(session, clock)
        #expect(await refusal { try await other.cacheKeysInKernel(for: .seconds(601)) }?.code == .locked)
        #expect(try ends(session, clock) == before)
        #expect(!other.canCacheKeys(for: .seconds(86_400)) && other.canCacheKeys(for: .seconds(600)))
        try await other.unlock(with: Passcode(copying: Self.passcode))
        try await other.cacheKeysInKernel(for: .seconds(86_400))
        #expect(try await session.status().timeLeft == Duration.seconds(86_400))
    }

    @Test("Restoring cached keys does not count as use", .enabled(if: KernelKeyring.isAvailable))
    func taking() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        try await session.cacheKeysInKernel()
        clock.advance(by: .seconds(599))
        let other = try await home.open(clock: clock.source)
        #expect(try await other.restoreCachedKeys())
        clock.advance(by: .seconds(1))
        #expect(!other.isUnlocked)
    }

    @Test(
        "Use renews only the key of its own class in the kernel",
        .enabled(if: KernelKeyring.isAvailable)
    )
    func perClass() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        try await session.cacheKeysInKernel()
        let other = try await home.open(clock: clock.source)
        #expect(try await other.restoreCachedKeys())
        var expected = try ends(session, clock)
        #expect(Set(expected.keys) == Set(ProtectionClass.allCases.filter(\.isEvictedOnLock)))
        clock.advance(by: .seconds(500))
        for protection in ProtectionClass.allCases {
            _ = try other.core.keys.key(protection)
            if protection.isEvictedOnLock { expected[protection] = clock.source.bootTime() + .seconds(600) }
            #expect(try ends(session, clock) == expected, "\(protection)")
            clock.advance(by: .seconds(1))
        }
        // 98 seconds later only what was used is there, in memory and in the kernel.
        let second = try TestHome()
        let start = try await make(second, clock)
        defer { start.close() }
        try await start.cacheKeysInKernel()
        clock.advance(by: .seconds(500))
        _ = try start.core.keys.key(.afterFirstUnlock)
        _ = try start.core.keys.key(.whenUnlocked)
        clock.advance(by: .seconds(100))
        #expect(Set(try ends(start, clock).keys) == [.whenUnlocked])
        #expect(
            Set(start.core.keys.all.keys) == [
                .whenUnlocked, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly,
            ])
    }

    @Test("In memory, each class has its own time, and its loss is reported alone")
    func inMemory() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        let losses = Mutex<[Set<ProtectionClass>]>([])
        session.onKeyEviction(while: session) { classes in losses.withLock { $0.append(classes) } }
        let keys = session.core.keys
        clock.advance(by: .seconds(599))
        _ = try keys.key(.afterFirstUnlockThisDeviceOnly)
        _ = try keys.key(device)
        let mark = keys.mark
        _ = try keys.key(device)
        clock.advance(by: .seconds(1))
        #expect(Set(keys.all.keys.filter(\.isEvictedOnLock)) == [device])
        #expect(session.isUnlocked)
        #expect(losses.withLock { $0 } == [[.whenUnlocked, .whenPasscodeSetThisDeviceOnly]])
        // Work with the class that is used goes on; work with another does not.
        #expect(!keys.hasLost(since: mark))
        #expect(keys.hasLost(since: mark, only: .whenUnlocked))
        // There is a passcode: the class is locked, not forbidden.
        for protection in [ProtectionClass.whenUnlocked, .whenPasscodeSetThisDeviceOnly] {
            #expect(failure { _ = try keys.key(protection) } == .locked)
        }
        #expect(!session.canCacheKeys(for: nil))
        clock.advance(by: .seconds(600))
        #expect(!session.isUnlocked)
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(session.canCacheKeys(for: nil))
    }

    @Test("Use of a key that outlasts locks does not extend the others")
    func afterFirstUnlock() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "value"), for: id, class: .afterFirstUnlock)
        for _ in 0..<4 {
            #expect(session.isUnlocked)
            clock.advance(by: .seconds(150))
            #expect(try await session.tokens.withToken(for: id) { token, _ in token.count } == 5)
        }
        #expect(!session.isUnlocked)
    }

    @Test("Copies of a class that is in use stay while another class expires")
    func views() async throws {
        let (home, clock) = (try TestHome(), TestClock())
        let session = try await make(home, clock)
        defer { session.close() }
        try home.scratch.write("a", [1, 2, 3])
        let path = home.scratch.path.appending("a")
        let used = try await session.files.add(contentsOf: path)
        let unused = try await session.files.add(contentsOf: path, class: .whenUnlocked)
        let keys = session.core.keys
        try await session.files.withMemoryCopy(of: used) { _ in
            let error = await refusal {
                _ = try await session.files.withEditableCopy(of: unused) { _ in
                    clock.advance(by: .seconds(599))
                    _ = try keys.key(self.device)
                    clock.advance(by: .seconds(1))
                    #expect(session.isUnlocked)
                }
            }
            #expect(error == nil || error?.code == .locked)
            #expect(failure { _ = try keys.key(.whenUnlocked) } == .locked)
        }
        let reader = try await session.files.reader(for: used)
        clock.advance(by: .seconds(500))
        _ = try keys.key(device)
        #expect(try reader.read(at: 0, count: 3) == [1, 2, 3])
    }
}
