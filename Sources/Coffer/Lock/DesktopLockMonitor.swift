import CofferBase
import CofferDBus
import CofferEngine
import Synchronization

/// A monitor that locks the vault when the user's desktop reports that the screen saver is active or that the
/// default Secret Service collection is locked.
final class DesktopLockMonitor: Sendable {
    private let listener = Mutex<BusListener?>(nil)
    private let deadline: Duration
    private let act: @Sendable (LockSignal) -> Void

    init(deadline: Duration, act: @escaping @Sendable (LockSignal) -> Void) {
        self.deadline = deadline
        self.act = act
    }

    /// Starts listening, and returns the status of each trigger.
    func start(_ sources: LockTriggers) -> [LockTriggerStatus] {
        guard BusListener.isBuilt else { return Self.none("This build does not support D-Bus.") }
        guard let address = sources.sessionBus else {
            return Self.none("No session bus is available, so this process cannot detect screen locks.")
        }
        do throws(CofferError) {
            let started = try BusListener.start(
                address: address, rules: LockSignal.sessionRules, deadline: deadline,
                onSignal: { [weak self] in self?.handle($0, sources) },
                onEnd: { [weak self] in self?.act(.lock(.busLost)) })
            listener.withLock { $0 = started }
            return statuses(started, sources)
        } catch {
            return Self.none(error.message)
        }
    }

    private func statuses(_ listener: BusListener, _ sources: LockTriggers) -> [LockTriggerStatus] {
        let saver = LockSignal.screenSavers.first { listener.isOwned($0, deadline: deadline) }
        let hasSecrets = listener.isOwned(LockSignal.secrets, deadline: deadline)
        return [
            LockTriggerStatus(
                .screenSaver, true,
                saver.map { "\($0) reports when the screen saver becomes active." }
                    ?? "No screen saver is on the session bus now. A screen saver that starts later will be "
                    + "detected."),
            LockTriggerStatus(
                .collection, sources.followsCollection,
                !sources.followsCollection
                    ? "This program is the Secret Service itself."
                    : hasSecrets
                        ? "The Secret Service reports when the user's collection is locked."
                        : "No Secret Service is on the session bus now. A service that starts later will be "
                            + "detected."),
        ]
    }

    private static func none(_ message: String) -> [LockTriggerStatus] {
        [LockTriggerStatus(.screenSaver, false, message), LockTriggerStatus(.collection, false, message)]
    }

    private func handle(_ signal: BusSignal, _ sources: LockTriggers) {
        switch LockSignal(signal, session: nil) {
        case .collectionLocked(let path):
            if sources.followsCollection, isDefault(path) { act(.lock(.collectionLock)) }
        case .collectionChanged(let path):
            if sources.followsCollection, isLocked(path), isDefault(path) { act(.lock(.collectionLock)) }
        case let meaning?: act(meaning)
        case nil: break
        }
    }

    private func isLocked(_ path: String) -> Bool {
        let listener = listener.withLock { $0 }
        return listener?.call(
            LockSignal.secrets, path, LockSignal.properties, "Get",
            [.text(LockSignal.collection), .text("Locked")], deadline: deadline)?.flag == true
    }

    /// Returns whether the collection at `path` has the alias `default`. Also returns `true` if the service
    /// does not answer.
    private func isDefault(_ path: String) -> Bool {
        let listener = listener.withLock { $0 }
        let named = listener?.call(
            LockSignal.secrets, LockSignal.secretsPath, LockSignal.secretService, "ReadAlias",
            [.text("default")], deadline: deadline)?.positionalStrings.first
        guard let named else { return true }
        return named.hasSameBytes(as: path)
    }
}
