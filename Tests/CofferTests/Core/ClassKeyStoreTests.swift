@testable import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Testing
import TestSupport

@Suite("The class keys of a session")
struct ClassKeyStoreTests {
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
        ClassKeyStore(clock: clock.source, inactivity: inactivity) { _, _ in }
    }

    @Test("A lock drops the keys that end with it, and closing drops the rest")
    func lockDropsWhatItShould() throws {
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

    @Test("A lock releases the key object and its guarded memory")
    func aDroppedKeyIsReleased() throws {
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

    @Test("A successor takes the place only of an older key that the store has, for the same time")
    func successors() throws {
        let clock = TestClock()
        let room = room(clock)
        let (first, open) = (ProtectionClass.standard, ProtectionClass.afterFirstUnlockThisDeviceOnly)
        func key(_ generation: UInt32) throws -> ClassKey {
            try ClassKey(
                SymmetricKey.random(), id: [UInt8](repeating: UInt8(generation), count: 16),
                generation: generation, vaultID: .random())
        }
        let locks = room.locks
        room.insert([first: try key(1)])
        room.succeed([first: try key(2), open: try key(2)], since: locks)
        #expect(room.present(first)?.generation == 2 && room.present(open) == nil)
        // Another thread has a newer one already.
        room.insert([first: try key(4)])
        room.succeed([first: try key(3)], since: locks)
        #expect(room.present(first)?.generation == 4)
        clock.advance(by: .seconds(59))
        room.succeed([first: try key(5)], since: locks)
        clock.advance(by: .seconds(2))
        #expect(room.present(first) == nil)
        room.succeed([first: try key(6)], since: locks)
        #expect(room.present(first) == nil)
        room.insert([first: try key(6), open: try key(6)])
        room.lock()
        room.insert([first: try key(6)])
        room.succeed([first: try key(7), open: try key(7)], since: locks)
        #expect(room.present(first)?.generation == 6 && room.present(open)?.generation == 6)
        room.removeAll(wiped: true)
        room.succeed([first: try key(8)], since: room.locks)
        #expect(room.all.isEmpty)
    }

    @Test("After a lapse or a lock, no error says that keys were replaced")
    func replacedIsNotLapsed() throws {
        for lapses in [true, false] {
            let clock = TestClock()
            let room = room(clock)
            room.insert(try keys())
            room.lapse([.standard], .keysReplaced)
            #expect(room.wasReplaced(.standard) && room.wasReplaced(nil))
            #expect(!room.wasReplaced(.afterFirstUnlockThisDeviceOnly))
            if lapses { clock.advance(by: .seconds(60)) } else { room.lock() }
            #expect(failure { _ = try room.key(.standard) } == .locked)
            #expect(!room.wasReplaced(.standard) && !room.wasReplaced(nil))
            room.insert(try keys())
            room.lapse([.standard], .keysReplaced)
            room.replace(with: try keys().filter { $0.key != .standard })
            #expect(!room.wasReplaced(nil))
        }
    }

    @Test("A wiped store never accepts keys again")
    func wipedIsForGood() throws {
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

    @Test("Use of a key extends the inactivity time; looking at the state does not")
    func idleTimeLocks() throws {
        let clock = TestClock()
        let room = room(clock)
        room.insert(try keys())
        let mark = room.mark
        clock.advance(by: .seconds(59))
        _ = try room.key(.whenUnlockedThisDeviceOnly)
        clock.advance(by: .seconds(59))
        #expect(room.isUnlocked)
        #expect(!room.hasLost(since: mark))
        // Looking is not using.
        clock.advance(by: .seconds(1))
        #expect(!room.isUnlocked)
        #expect(room.hasLost(since: mark))
        #expect(failure { _ = try room.key(.whenUnlockedThisDeviceOnly) } == .locked)
        #expect(failure { _ = try room.key(.afterFirstUnlockThisDeviceOnly) } == nil)
    }

    @Test("Without an inactivity time, keys never expire")
    func withoutAnIdleTimeNothingLocks() throws {
        let clock = TestClock()
        let room = room(clock, inactivity: nil)
        room.insert(try keys())
        clock.advance(by: .seconds(1 << 30))
        #expect(room.isUnlocked)
    }

    @Test("The inactivity time ends the keys even if no caller asks for one")
    func theWatchLocksByItself() async throws {
        let room = ClassKeyStore(clock: .system, inactivity: .milliseconds(200)) { _, _ in }
        weak var key: ClassKey?
        do {
            let keys = try keys()
            key = keys[.whenUnlockedThisDeviceOnly]
            room.insert(keys)
        }
        #expect(key != nil)
        #expect(await eventually { key == nil })
        extendLifetime(room)
    }

    @Test("The store reports each use of a key, but not a look or a refusal")
    func useIsReported() throws {
        let uses = Counter()
        let room = ClassKeyStore(clock: TestClock().source, inactivity: nil) { _, _ in uses.increment() }
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
