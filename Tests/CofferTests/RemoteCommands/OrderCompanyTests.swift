@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

/// An order that cannot be finished, and a home that cannot be changed, stop nothing else.
@Suite("Orders that cannot be finished")
struct OrderCompanyTests {
    private let manager = FileManager.default

    /// A scene with namespaces of ada and bob; ada's vault was moved elsewhere and linked, so that a wipe
    /// leaves something.
    private func scene(_ passcode: String? = nil) async throws -> (OrderFixture, link: String) {
        let scene = try await OrderFixture.make(passcode)
        for user in ["ada", "bob"] {
            _ = try await Vault.create(
                at: scene.home.location.namespace(of: user), options: TestHome.options(), passcode: nil,
                clock: scene.clock.source)
        }
        let link = try scene.home.location.namespace(of: "ada").path.appending("vault").string
        try manager.moveItem(atPath: link, toPath: link + "-elsewhere")
        try manager.createSymbolicLink(atPath: link, withDestinationPath: link + "-elsewhere")
        return (scene, link)
    }

    @Test("Other orders, heartbeats and openings continue beside a stuck order")
    func others() async throws {
        let (scene, link) = try await scene()
        let stuck = try scene.order(.wipe(.user("ada")), counter: 1)
        #expect(await scene.refusal(of: stuck) == .refused)
        let key = try Administrator().key
        for (counter, action) in [
            (UInt64(2), RemoteCommand.Action.wipe(.user("bob"))), (3, .wipe(.tokens)), (4, .pin(key)),
            (1, .heartbeat),
        ] {
            let bytes = try scene.order(action, counter: counter)
            #expect(await scene.refusal(of: bytes) == nil, "\(action)")
            #expect(await scene.refusal(of: bytes) == .orderReplayed, "\(action)")
        }
        let session = try await scene.home.open(clock: scene.clock.source)
        try await session.checkHeartbeat()
        #expect(try await session.securityChecks().contains { $0.name == "unfinished-orders" })
        #expect(await scene.refusal(of: stuck) == .refused)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.count == 1)
        try manager.removeItem(atPath: link)
        let again = try await scene.home.open(clock: scene.clock.source)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        #expect(try await !again.securityChecks().contains { $0.name == "unfinished-orders" })
        #expect(await scene.refusal(of: stuck) == .orderReplayed)
    }

    @Test(
        "An order for an unreachable namespace is noted and carried out later",
        arguments: ["file", "pipe", "link", "users"])
    func place(_ obstacle: String) async throws {
        let scene = try await OrderFixture.make(nil)
        let ada = try scene.home.location.namespace(of: "ada")
        _ = try await Vault.create(
            at: ada, options: TestHome.options(), passcode: nil, clock: scene.clock.source)
        let path = obstacle == "users" ? ada.path.removingLastComponent() : ada.path
        let place = path.string
        try manager.moveItem(atPath: place, toPath: place + "-elsewhere")
        switch obstacle {
        case "pipe": #expect(try CommandRun.run("mkfifo", [place]).code == 0)
        case "link":
            try manager.createSymbolicLink(atPath: place, withDestinationPath: place + "-elsewhere")
        default: try Data([1]).write(to: URL(filePath: place))
        }
        let order = try scene.order(.wipe(.user("ada")), counter: 1)
        let other = try scene.order(.wipe(.tokens), counter: 2)
        let source = PollingRevocationSource { () throws(CofferError) in [.order(order), .order(other)] }
        _ = await refusal { try await scene.session.handleRevocations(from: source) }
        #expect(await scene.refusal(of: other) == .orderReplayed)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.count == 1)
        try manager.removeItem(atPath: place)
        try manager.moveItem(atPath: place + "-elsewhere", toPath: place)
        _ = try await scene.home.open(clock: scene.clock.source)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        #expect(await refusal { _ = try await Vault(at: ada) }?.code == .wiped)
        #expect(await scene.refusal(of: order) == .orderReplayed)
    }

    @Test("The other orders in a stuck order's mailbox are carried out")
    func mailbox() async throws {
        let (scene, _) = try await scene()
        let box = try ScratchDirectory.make()
        for (counter, user) in [(UInt64(1), "ada"), (2, "bob")] {
            try box.write(FilePath("\(user).order"), scene.order(.wipe(.user(user)), counter: counter))
        }
        let source = DirectoryRevocationSource(box.path)
        for _ in 0..<2 {
            let error = await refusal { try await scene.session.handleRevocations(from: source) }
            #expect(error?.code == .refused)
        }
        let bob = try scene.home.location.namespace(of: "bob")
        #expect(await refusal { _ = try await Vault(at: bob) }?.code == .wiped)
        try box.write("all.order", scene.order(counter: 3))
        _ = await refusal { try await scene.session.handleRevocations(from: source) }
        #expect(try scene.session.core.home.state()?.isAlive == false)
    }

    @Test("The dead-man's switch works beside a stuck order", arguments: DeadManSwitch.Action.allCases)
    func heartbeat(_ action: DeadManSwitch.Action) async throws {
        let (scene, _) = try await scene("correct horse")
        try await scene.session.setDeadManSwitch(DeadManSwitch(action, after: .seconds(86_400)))
        #expect(await scene.refusal(of: try scene.order(.wipe(.user("ada")))) == .refused)
        let owner = try await scene.home.unlocked("correct horse", clock: scene.clock.source)
        scene.clock.advance(by: .seconds(86_400))
        let error = await refusal { _ = try await scene.home.open(clock: scene.clock.source) }
        #expect((error == nil) == (action == .lock))
        if action == .lock {
            try await owner.checkHeartbeat()
            #expect(!owner.hasKeys)
        } else {
            #expect(try scene.session.core.home.state()?.isAlive == false)
            #expect(owner.core.keys.isWiped)
        }
    }

    @Test("The dead-man's switch drops the keys even if the home cannot be changed")
    func unchangeable() async throws {
        let scene = try await OrderFixture.make()
        try await scene.session.setDeadManSwitch(DeadManSwitch(.lock, after: .seconds(86_400)))
        let owner = try await scene.home.unlocked("correct horse", clock: scene.clock.source)
        scene.clock.advance(by: .seconds(86_400))
        try await owner.unlock(with: Passcode(copying: "correct horse"))
        let lock = scene.home.homePath("lock").string
        try manager.removeItem(atPath: lock)
        try manager.createDirectory(atPath: lock, withIntermediateDirectories: false)
        #expect(owner.hasKeys)
        try await owner.checkHeartbeat()
        #expect(!owner.hasKeys)
        _ = try await scene.home.open(clock: scene.clock.source)
    }

    @Test("The dead-man's switch and accepted orders need no keybag")
    func withoutKeybag() async throws {
        for isHeartbeat in [true, false] {
            let scene = try await OrderFixture.make()
            if isHeartbeat {
                try await scene.session.setDeadManSwitch(DeadManSwitch(.wipe, after: .seconds(86_400)))
                scene.clock.advance(by: .seconds(86_400))
            } else {
                let core = scene.session.core
                _ = try core.accept(core.verify(SignedCommand.read(scene.order()))).get()
            }
            try scene.home.write("keybag", [1, 2, 3])
            let error = await refusal { _ = try await scene.home.open(clock: scene.clock.source) }
            #expect(error?.code == .wiped)
            #expect(try await Vault.status(at: scene.home.location).state == .wiped)
        }
    }

    @Test("Waiting orders are refused when the record is full, and accepted when it has room")
    func room() async throws {
        let (scene, link) = try await scene()
        let reason = String(repeating: "r", count: 255)
        var counter: UInt64 = 0
        var code: CofferError.Code? = .refused
        while code == .refused, counter < 99 {
            counter += 1
            code = await scene.refusal(
                of: try scene.order(.wipe(.user("ada")), counter: counter, reason: reason))
        }
        #expect(code == .busy && counter > 3)
        #expect(await scene.refusal(of: try scene.order(.heartbeat)) == nil)
        try manager.removeItem(atPath: link)
        _ = try await scene.home.open(clock: scene.clock.source)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        guard case .wiped = try await scene.take(scene.order(counter: counter)) else {
            Issue.record("no receipt")
            return
        }
    }
}
