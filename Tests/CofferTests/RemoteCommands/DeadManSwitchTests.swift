@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The dead-man's switch")
struct DeadManSwitchTests {
    private static let day = Duration.seconds(86_400)

    /// A scene whose switch is set.
    private func scene(_ action: DeadManSwitch.Action, days: Int = 30) async throws -> OrderFixture {
        let scene = try await OrderFixture.make()
        try await scene.session.setDeadManSwitch(DeadManSwitch(action, after: Self.day * days))
        return scene
    }

    private func open(_ scene: OrderFixture, _ clock: VaultClock? = nil) async -> CofferError.Code? {
        await refusal { _ = try await scene.home.open(clock: clock ?? scene.clock.source) }?.code
    }

    @Test("The switch is off by default, and again when the owner disables it")
    func off() async throws {
        let scene = try await OrderFixture.make()
        scene.clock.advance(by: Self.day * 5000)
        #expect(await open(scene) == nil)
        #expect(try await scene.session.deadManSwitch() == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == nil)
        let owner = try await scene.home.unlocked("correct horse", clock: scene.clock.source)
        try await owner.setDeadManSwitch(DeadManSwitch(.wipe, after: Self.day))
        try await owner.setDeadManSwitch(nil)
        scene.clock.advance(by: Self.day * 5000)
        #expect(await open(scene) == nil)
    }

    @Test("The first opening after the limit wipes; one a second earlier does not")
    func wipes() async throws {
        let scene = try await scene(.wipe)
        scene.clock.advance(by: Self.day * 30 - .seconds(1))
        #expect(await open(scene) == nil)
        scene.clock.advance(by: .seconds(1))
        #expect(await open(scene) == .wiped)
        let receipt = try Data(contentsOf: URL(filePath: scene.home.homePath("receipt.json").string))
        #expect(String(decoding: receipt, as: UTF8.self).contains("no contact for 30 days"))
    }

    @Test("After the limit, a check wipes an open session or locks it completely")
    func looks() async throws {
        let wiped = try await scene(.wipe, days: 1)
        wiped.clock.advance(by: Self.day)
        #expect(await refusal { try await wiped.session.checkHeartbeat() }?.code == .wiped)
        #expect(wiped.session.core.keys.isWiped)
        let locked = try await scene(.lock, days: 1)
        let session = try await locked.home.unlocked("correct horse", clock: locked.clock.source)
        var events = session.events.makeAsyncIterator()
        locked.clock.advance(by: Self.day)
        try await session.checkHeartbeat()
        #expect(!session.hasKeys)
        // The idle time was over, too: whichever came first.
        let event = await events.next()
        #expect(event.map { [.locked, .closed].contains($0.kind) } == true)
        #expect(await open(locked) == nil)
        #expect(try await locked.take(locked.order(.heartbeat)) == .heartbeatRecorded)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        try await session.checkHeartbeat()
        #expect(session.isUnlocked)
    }

    @Test("Each new heartbeat restarts the time; a repeated one does not")
    func heartbeat() async throws {
        let scene = try await scene(.wipe)
        let first = try scene.order(.heartbeat, counter: 1, expires: scene.now + 86_400 * 365)
        for round in 0..<5 {
            scene.clock.advance(by: Self.day * 29)
            let bytes = try round == 0 ? first : scene.order(.heartbeat, counter: UInt64(round + 1))
            #expect(try await scene.take(bytes) == .heartbeatRecorded)
            #expect(try await scene.session.timeSinceHeartbeat() == .zero)
        }
        scene.clock.advance(by: Self.day * 29)
        #expect(await scene.refusal(of: first) == .orderReplayed)
        #expect(
            await scene.refusal(of: try scene.order(.heartbeat, counter: 9, by: Administrator()))
                == .orderUnknownKey)
        #expect(await open(scene) == nil)
        scene.clock.advance(by: Self.day)
        #expect(await open(scene) == .wiped)
    }

    @Test("The wall clock plays no part, even when it is set back")
    func wallClock() async throws {
        let scene = try await scene(.wipe)
        for wall in [Duration.zero, .seconds(1 << 31), .seconds(1 << 33), .seconds(-5)] {
            scene.clock.setWallClock(to: wall)
            #expect(await open(scene) == nil)
        }
        scene.clock.advance(by: Self.day * 30)
        scene.clock.setWallClock(to: .zero)
        #expect(await open(scene) == .wiped)
    }

    @Test("Running time adds up over boots, as far as openings observe it")
    func boots() async throws {
        let scene = try await scene(.wipe, days: 10)
        for _ in 2...10 {
            scene.clock.reboot(running: .seconds(60))
            #expect(await open(scene) == nil)
            scene.clock.advance(by: Self.day - .seconds(60))
            #expect(await open(scene) == nil)
            // Not seen: the machine restarts before the next look.
            scene.clock.advance(by: Self.day * 3)
        }
        scene.clock.reboot(running: Self.day - .seconds(1))
        #expect(await open(scene) == nil)
        scene.clock.reboot(running: .seconds(1))
        #expect(await open(scene) == .wiped)
    }

    @Test("With an unidentified boot, time counts as it passes, and no check erases")
    func unknownBoots() async throws {
        let scene = try await scene(.wipe, days: 1)
        scene.clock.advance(by: .seconds(80_000))
        for _ in 0..<6 {
            #expect(await open(scene, scene.clock.withoutBoot) == nil)
            scene.clock.advance(by: .seconds(100))
            #expect(await open(scene) == nil)
            scene.clock.advance(by: .seconds(100))
        }
        #expect(try await scene.session.timeSinceHeartbeat() == .seconds(81_200))
        // As in a service that never sees /proc: the keys go, and the vault stays.
        let owner = try await scene.home.unlocked("correct horse", clock: scene.clock.withoutBoot)
        try await owner.setDeadManSwitch(DeadManSwitch(.wipe, after: Self.day))
        scene.clock.advance(by: Self.day / 2)
        try await owner.unlock(with: Passcode(copying: "correct horse"))
        try await owner.checkHeartbeat()
        #expect(owner.hasKeys)
        scene.clock.advance(by: Self.day / 2)
        try await owner.unlock(with: Passcode(copying: "correct horse"))
        try await owner.checkHeartbeat()
        #expect(!owner.hasKeys)
        #expect(await open(scene, scene.clock.withoutBoot) == nil)
        #expect(await open(scene) == .wiped)
    }

    @Test("An unidentified reboot counts at most the time that every clock shows")
    func unknownReboot() async throws {
        let scene = try await scene(.wipe, days: 10)
        scene.clock.reboot(running: .seconds(60))
        #expect(await open(scene, scene.clock.withoutBoot) == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == .zero)
        scene.clock.reboot(running: Self.day * 9)
        scene.clock.setWallClock(to: scene.clock.source.wallClock() - Self.day * 9 + .seconds(30))
        #expect(await open(scene, scene.clock.withoutBoot) == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == .seconds(30))
    }

    @Test("Machines that share a home in turns count each period once")
    func machines() async throws {
        let scene = try await scene(.wipe, days: 30)
        let others = (0...9).map { scene.clock.elsewhere($0, earlier: Self.day * (100 + $0)) }
        for day in 0..<29 {
            #expect(await open(scene) == nil)
            #expect(await open(scene, others[0]) == nil)
            if day % 7 == 6 { for other in others { #expect(await open(scene, other) == nil) } }
            scene.clock.advance(by: Self.day)
        }
        #expect(await open(scene) == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == Self.day * 29)
        // A heartbeat starts it for all of them.
        try await scene.take(scene.order(.heartbeat))
        for other in others { #expect(await open(scene, other) == nil) }
        scene.clock.advance(by: Self.day * 30)
        #expect(await open(scene, others[3]) == .wiped)
    }

    @Test("Another machine's wall clock adds nothing, whether behind or once ahead")
    func wallElsewhere() async throws {
        let scene = try await scene(.wipe, days: 30)
        let wall = scene.clock.source.wallClock()
        let others = (1...3).map { scene.clock.elsewhere($0, earlier: Self.day * 100) }
        scene.clock.setWallClock(to: .zero)
        #expect(await open(scene) == nil)
        #expect(await open(scene, others[0]) == nil)
        scene.clock.advance(by: .seconds(61))
        #expect(await open(scene) == nil)
        scene.clock.setWallClock(to: wall + .seconds(90))
        #expect(await open(scene, others[1]) == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == .seconds(151))
    }

    @Test("A record of an earlier release is read, and its boot continues")
    func oldRecord() async throws {
        let scene = try await scene(.wipe, days: 10)
        scene.clock.advance(by: Self.day)
        #expect(await open(scene) == nil)
        let old = scene.oldRecord(switchedTo: 2, days: 10, elapsed: Self.day)
        try scene.session.core.rewriteRemoteCommandRecord { _ in old }
        #expect(try await scene.session.timeSinceHeartbeat() == Self.day)
        #expect(try await scene.session.administratorKeys().map(\.key) == [scene.administrator.key])
        // It does not say when the last look was: another boot counts from its first look on.
        #expect(await open(scene, scene.clock.elsewhere(1, earlier: Self.day * 100)) == nil)
        scene.clock.advance(by: Self.day * 9 - .seconds(1))
        #expect(await open(scene) == nil)
        scene.clock.advance(by: .seconds(1))
        #expect(await open(scene) == .wiped)
    }

    @Test("A boot clock that runs backwards subtracts nothing and stops nothing")
    func clockRunsBackwards() async throws {
        let scene = try await scene(.wipe, days: 10)
        scene.clock.advance(by: Self.day * 9)
        #expect(await open(scene) == nil)
        scene.clock.advance(by: Self.day * -8)
        #expect(await open(scene) == nil)
        #expect(try await scene.session.timeSinceHeartbeat() == Self.day * 9)
        // The wall clock goes on, as where a machine goes on from a snapshot.
        scene.clock.setWallClock(to: scene.clock.source.wallClock() + Self.day * 8)
        scene.clock.advance(by: Self.day - .seconds(1))
        #expect(await open(scene) == nil)
        scene.clock.advance(by: .seconds(1))
        #expect(await open(scene) == .wiped)
    }

    @Test("Clones of a machine that check in turns count no time twice", arguments: [2, 3])
    func clones(count: Int) async throws {
        let scene = try await scene(.wipe, days: 20)
        scene.clock.reboot(running: Self.day * 3)
        #expect(await open(scene) == nil)
        let before = try #require(try await scene.session.timeSinceHeartbeat())
        // Each goes on from another snapshot, half a day older than the one before, on the same disk.
        for _ in 0..<8 {
            for number in 0..<count {
                scene.clock.advance(by: .seconds(60))
                let clone = scene.clock.clone(behind: .seconds(43_200) * (count - 1 - number))
                #expect(await open(scene, clone) == nil)
            }
        }
        let counted = try #require(try await scene.session.timeSinceHeartbeat())
        #expect(counted - before <= .seconds(60) * (8 * count))
        // What has passed is counted all the same.
        scene.clock.advance(by: Self.day * 20)
        #expect(await open(scene) == .wiped)
    }

    @Test("The switch requires a pinned key, the owner and a sensible time")
    func limits() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let policy = try DeadManSwitch(.lock, after: Self.day)
        #expect(await refusal { try await session.setDeadManSwitch(policy) }?.code == .refused)
        for limit in [Duration.zero, .seconds(3599), Self.day * 3654, .seconds(-1), .seconds(Int64.max)] {
            #expect(throws: CofferError.self) { try DeadManSwitch(.wipe, after: limit) }
        }
        #expect(try DeadManSwitch(.wipe, after: .milliseconds(3_600_999)).limit == .seconds(3600))
        let scene = try await scene(.lock, days: 1)
        #expect(try await scene.session.deadManSwitch() == policy)
        scene.session.lock()
        #expect(await refusal { try await scene.session.setDeadManSwitch(nil) }?.code == .locked)
        #expect(try await scene.home.open(clock: scene.clock.source).deadManSwitch() == policy)
    }

    @Test("Frequent checks write seldom and lose nothing")
    func seldom() async throws {
        let scene = try await scene(.wipe, days: 1)
        let before = try scene.home.read("orders")
        for _ in 0..<5 {
            scene.clock.advance(by: .seconds(11))
            #expect(await open(scene) == nil)
        }
        #expect(try scene.home.read("orders") == before)
        scene.clock.advance(by: .seconds(11))
        #expect(await open(scene) == nil)
        #expect(try scene.home.read("orders") != before)
        #expect(try await scene.session.timeSinceHeartbeat() == .seconds(66))
    }
}
