@testable import Coffer
import CofferBase
import CofferCrypto
import TestSupport
import Testing

@Suite struct ClassKeyStoreTests {
    private func keys() throws -> [ProtectionClass: ClassKey] {
        var keys: [ProtectionClass: ClassKey] = [:]
        for protection in ProtectionClass.allCases {
            keys[protection] = try ClassKey(
                SymmetricKey.random(), id: [UInt8](repeating: 1, count: 16), generation: 1, vaultID: .random()
            )
        }
        return keys
    }

    private func room(_ clock: TestClock, inactivity: Duration? = .seconds(60)) -> ClassKeyStore {
        ClassKeyStore(time: clock.source, inactivity: inactivity) { _, _ in }
    }

    @Test func lockDropsWhatItShould() throws {
        let room = room(TestClock())
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .locked)
        room.insert(try keys())
        #expect(room.isUnlocked)
        let mark = room.mark
        _ = try room.key(.whenUnlockedThisDeviceOnly)
        room.lock()
        #expect(room.hasLost(since: mark))
        #expect(!room.isUnlocked)
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .locked)
        #expect(failure { _ = try room.key(.afterFirstUnlockThisDeviceOnly) } == nil)
        room.removeAll(wiped: false)
        #expect(failure { _ = try room.key(.afterFirstUnlockThisDeviceOnly) } == .locked)
    }

    /// The object that owns the key goes, and with it its guarded memory.
    @Test func aDroppedKeyIsReleased() throws {
        let room = room(TestClock())
        weak var key: ClassKey?
        do {
            let keys = try keys()
            key = keys[.whenUnlockedThisDeviceOnly]
            room.insert(keys)
        }
        #expect(key != nil)
        room.lock()
        #expect(key == nil)
    }

    @Test func wipedIsForGood() throws {
        let room = room(TestClock())
        room.insert(try keys())
        room.removeAll(wiped: true)
        for protection in ProtectionClass.allCases {
            #expect(failure { _ = try room.key(protection) } == .wiped)
        }
        room.insert(try keys())
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .wiped)
        #expect(!room.isUnlocked)
    }

    @Test func idleTimeLocks() throws {
        let clock = TestClock()
        let room = room(clock)
        room.insert(try keys())
        let mark = room.mark
        clock.advance(.seconds(59))
        _ = try room.key(.whenUnlockedThisDeviceOnly)
        clock.advance(.seconds(59))
        #expect(room.isUnlocked)
        #expect(!room.hasLost(since: mark))
        // Looking is not using.
        clock.advance(.seconds(1))
        #expect(!room.isUnlocked)
        #expect(room.hasLost(since: mark))
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .locked)
        #expect(failure { _ = try room.key(.afterFirstUnlockThisDeviceOnly) } == nil)
    }

    @Test func withoutAnIdleTimeNothingLocks() throws {
        let clock = TestClock()
        let room = room(clock, inactivity: nil)
        room.insert(try keys())
        clock.advance(.seconds(1 << 30))
        #expect(room.isUnlocked)
    }

    /// Nobody asks for a key, and it goes all the same.
    @Test func theWatchLocksByItself() async throws {
        let room = ClassKeyStore(time: .system, inactivity: .milliseconds(200)) { _, _ in }
        weak var key: ClassKey?
        do {
            let keys = try keys()
            key = keys[.whenUnlockedThisDeviceOnly]
            room.insert(keys)
        }
        #expect(key != nil)
        while key != nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(key == nil)
        extendLifetime(room)
    }

    @Test func useIsReported() throws {
        let uses = Counter()
        let room = ClassKeyStore(time: TestClock().source, inactivity: nil) { _, _ in uses.increment() }
        room.insert(try keys())
        _ = try room.key(.whenUnlockedThisDeviceOnly)
        _ = room.all
        _ = room.isUnlocked
        #expect(uses.value == 1)
        room.lock()
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .locked)
        #expect(uses.value == 1)
    }
}
