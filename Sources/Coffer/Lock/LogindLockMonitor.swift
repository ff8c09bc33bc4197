import CofferBase
import CofferDBus
import CofferEngine
import Synchronization

/// Locks when logind reports that the desktop session locks or ends, or that the machine sleeps or shuts
/// down.
final class LogindLockMonitor: Sendable {
    /// An inhibitor of logind, which delays the machine's sleep while this object is alive.
    private final class Inhibitor: Sendable {
        let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    private struct State {
        var session: String?
        var inhibitor: Inhibitor?
    }

    private let state = Mutex(State())
    private let listener = Mutex<BusListener?>(nil)
    private let deadline: Duration
    private let act: @Sendable (LockSignal) -> Void

    init(deadline: Duration, act: @escaping @Sendable (LockSignal) -> Void) {
        self.deadline = deadline
        self.act = act
    }

    /// Starts listening; returns the status of each trigger.
    func start(_ sources: LockTriggers, inhibiting: Bool) -> [LockTriggerStatus] {
        guard BusListener.isBuilt else { return Self.none("This build does not listen to buses.") }
        guard let address = sources.systemBus else {
            return Self.none(
                "There is no system bus to report that the screen locks or the machine sleeps.")
        }
        do throws(CofferError) {
            let started = try BusListener.start(
                address: address, rules: LockSignal.systemRules, deadline: deadline,
                onSignal: { [weak self] in self?.handle($0) },
                onEnd: { [weak self] in self?.act(.lock(.busLost)) })
            listener.withLock { $0 = started }
            guard started.isOwned(LockSignal.login, deadline: deadline) else {
                return Self.none("There is no logind on the system bus.")
            }
            let session = desktopSession(sources.desktopSession, started)
            state.withLock { $0.session = session }
            if inhibiting { inhibit() }
            return statuses(session: session, inhibiting: inhibiting)
        } catch {
            return Self.none(error.message)
        }
    }

    private func statuses(session: String?, inhibiting: Bool) -> [LockTriggerStatus] {
        let isDelayed = !inhibiting || state.withLock { $0.inhibitor != nil }
        return [
            LockTriggerStatus(
                .desktopSession, session != nil,
                session == nil
                    ? "logind knows no desktop session of this process: set XDG_SESSION_ID."
                    : "logind reports when the desktop session locks or ends."),
            LockTriggerStatus(
                .sleep, true,
                isDelayed
                    ? "logind delays sleep until the keys are gone."
                    : "logind reports when the machine sleeps, but does not wait: keys may be in memory."),
        ]
    }

    private static func none(_ message: String) -> [LockTriggerStatus] {
        [LockTriggerStatus(.desktopSession, false, message), LockTriggerStatus(.sleep, false, message)]
    }

    /// Returns the object path of a desktop session: the session with this identifier, otherwise the session
    /// of this process, otherwise the session that logind reports as the user's display.
    private func desktopSession(_ identifier: String?, _ listener: BusListener) -> String? {
        func manager(_ method: String, _ argument: BusArgument) -> String? {
            listener.call(
                LockSignal.login, LockSignal.loginPath, LockSignal.loginManager, method, [argument],
                deadline: deadline)?.positionalStrings.first
        }
        if let identifier, let path = manager("GetSession", .text(identifier)) { return path }
        if let path = manager("GetSessionByPID", .number(0)) { return path }
        guard let user = manager("GetUser", .number(Environment.userID)) else { return nil }
        let display = listener.call(
            LockSignal.login, user, LockSignal.properties, "Get",
            [.text("org.freedesktop.login1.User"), .text("Display")], deadline: deadline)
        guard let path = display?.positionalStrings.last, path != "/" else { return nil }
        return path
    }

    private func handle(_ signal: BusSignal) {
        let session = state.withLock { $0.session }
        guard let meaning = LockSignal(signal, session: session) else { return }
        if meaning == .awake { return inhibit() }
        act(meaning)
        // The keys are gone, so the machine may sleep now.
        if meaning == .lock(.sleep) { state.withLock { $0.inhibitor = nil } }
    }

    private func inhibit() {
        guard let listener = listener.withLock({ $0 }) else { return }
        let descriptor = listener.descriptor(
            from: LockSignal.login, LockSignal.loginPath, LockSignal.loginManager, "Inhibit",
            [.text("sleep"), .text("Coffer"), .text("Keys are dropped first."), .text("delay")],
            deadline: deadline)
        guard let descriptor else { return }
        let inhibitor = Inhibitor(descriptor)
        state.withLock { $0.inhibitor = inhibitor }
    }
}
