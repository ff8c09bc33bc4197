import Coffer
import CofferDBus
import CofferEngine
import Foundation
import Synchronization
import SystemPackage
import TestSupport

/// A desktop on private buses: Tests/Faults/desktop.py.
final class FakeDesktop {
    private let scratch: ScratchDirectory
    private let helper: Helper
    let sources: LockTriggers

    /// Whether its parts are installed.
    static let isPossible: Bool = {
        guard BusListener.isBuilt else { return false }
        let programs = ["dbus-daemon --version", "gnome-keyring-daemon --version"]
        let run = try? Helper.run(
            ["sh", "-c", (programs + ["/usr/bin/python3 -c 'import dbusmock'"]).joined(separator: " && ")])
        return run?.code == 0
    }()

    init?() throws {
        scratch = try ScratchDirectory.make()
        let script = PackageRoot.path + "Tests/Faults/desktop.py"
        guard let helper = Helper(["/usr/bin/python3", script, scratch.path.string]) else { return nil }
        self.helper = helper
        var sources = LockTriggers()
        sources.systemBus = helper.line()
        sources.sessionBus = helper.line()
        sources.desktopSession = "c7"
        sources.deadline = .seconds(120)
        self.sources = sources
    }

    /// Sends a signal; it is on its way when this returns.
    func send(_ command: String) -> Bool {
        helper.send(command)
        return helper.line() == "done"
    }

    /// How many delay logind's sleep.
    func inhibitors() -> Int? {
        helper.send("inhibitors")
        return helper.line().flatMap { Int($0) }
    }
}

/// A session's events as they come.
final class EventLog: Sendable {
    private let heard = Mutex<[VaultEvent]>([])
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ session: Vault) {
        let stream = session.events
        let task = Task { [weak self] in
            for await event in stream { self?.heard.withLock { $0.append(event) } }
        }
        self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0 }?.cancel() }

    /// The oldest event not yet taken, if it comes by the deadline.
    func next(within deadline: Duration = .seconds(120)) async -> VaultEvent? {
        let end = ContinuousClock.now + deadline
        repeat {
            let event = heard.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let event { return event }
            try? await Task.sleep(for: .milliseconds(2))
        } while ContinuousClock.now < end
        return nil
    }
}
