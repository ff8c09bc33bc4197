import CofferBase
import CofferDBus
import CofferEngine
import Synchronization

/// A monitor that locks the vault when logind reports that the desktop session is locked or ends, or that the
/// machine is about to sleep or shut down.
final class LogindLockMonitor: Sendable {
    /// A logind inhibitor, which delays the machine's sleep while this object is alive.
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

    /// Starts listening, and returns the status of each trigger.
    func start(_ sources: LockTriggers, inhibiting: Bool) -> [LockTriggerStatus] {
        guard BusListener.isBuilt else { return Self.none("This build does not support D-Bus.") }
        guard let address = sources.systemBus else {
            return Self.none(
                "No system bus is available, so this process cannot detect screen locks or sleep.")
        }
        do throws(CofferError) {
            let started = try BusListener.start(
                address: address, rules: LockSignal.systemRules, deadline: deadline,
                onSignal: { [weak self] in self?.handle($0) },
                onEnd: { [weak self] in self?.act(.lock(.busLost)) })
            listener.withLock { $0 = started }
            guard started.isOwned(LockSignal.login, deadline: deadline) else {
                return Self.none("The logind service is not available on the system bus.")
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
                    ? "The logind service cannot determine this process's desktop session. Set "
                        + "XDG_SESSION_ID."
                    : "The logind service reports when the desktop session locks or ends."),
            LockTriggerStatus(
                .sleep, true,
                isDelayed
                    ? "The logind service delays sleep until the keys have been evicted."
                    : "The logind service reports sleep but does not delay sleep, so keys may still be in "
                        + "memory."),
        ]
    }

    private static func none(_ message: String) -> [LockTriggerStatus] {
        [LockTriggerStatus(.desktopSession, false, message), LockTriggerStatus(.sleep, false, message)]
    }

    /// Returns a desktop session's object path: the session with the given identifier; otherwise, this
    /// process's session; otherwise, the session that logind reports as the user's display.
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
            [.text("sleep"), .text("Coffer"), .text("Keys are evicted first."), .text("delay")],
            deadline: deadline)
        guard let descriptor else { return }
        let inhibitor = Inhibitor(descriptor)
        state.withLock { $0.inhibitor = inhibitor }
    }
}
