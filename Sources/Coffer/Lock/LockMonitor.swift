import CofferBase
import CofferEngine
import CofferVault
import Synchronization

/// A monitor for the lock triggers outside this process: signals on buses, and the expiration of keys in the
/// kernel keyring.
final class LockMonitor: Sendable {
    private let system: LogindLockMonitor
    private let session: DesktopLockMonitor
    private let kernelWatch: Task<Void, Never>?
    /// The status of each trigger.
    let statuses: [LockTriggerStatus]
    /// The interval for polling the kernel keyring, which sends no signals.
    private static let kernelPause = Duration.milliseconds(200)

    /// Creates a monitor and starts listening. Blocks for at most a few times ``LockTriggers/deadline``.
    ///
    /// - Parameters:
    ///   - sources: The buses to listen to.
    ///   - inactivity: The time in seconds without use after which the vault locks; `nil` if the vault never
    ///     locks for lack of use.
    ///   - act: A closure that is called for each signal.
    ///   - checkKernelKeys: A closure that is called at short intervals and returns `false` once the vault
    ///     object no longer exists.
    init(
        _ sources: LockTriggers, inactivity: Int?, act: @escaping @Sendable (LockSignal) -> Void,
        checkKernelKeys: @escaping @Sendable () -> Bool
    ) {
        system = LogindLockMonitor(deadline: sources.deadline, act: act)
        session = DesktopLockMonitor(deadline: sources.deadline, act: act)
        let hasKeyring = KernelKeyring.isAvailable
        statuses =
            Self.own(inactivity: inactivity, hasKeyring: hasKeyring)
            + system.start(sources, inhibiting: true) + session.start(sources)
        guard hasKeyring else {
            kernelWatch = nil
            return
        }
        kernelWatch = BackgroundTask.start {
            while !Task.isCancelled, checkKernelKeys() {
                try? await Task.sleep(for: Self.kernelPause, clock: .continuous)
            }
        }
    }

    deinit { kernelWatch?.cancel() }

    /// Returns the status of each trigger, without locking a vault.
    static func probe(_ sources: LockTriggers, inactivity: Int?) -> [LockTriggerStatus] {
        let system = LogindLockMonitor(deadline: sources.deadline) { _ in }
        let session = DesktopLockMonitor(deadline: sources.deadline) { _ in }
        return own(inactivity: inactivity, hasKeyring: KernelKeyring.isAvailable)
            + system.start(sources, inhibiting: false) + session.start(sources)
    }

    private static func own(inactivity: Int?, hasKeyring: Bool) -> [LockTriggerStatus] {
        [
            LockTriggerStatus(
                .idleTimer, inactivity != nil,
                inactivity.map {
                    "The vault locks after \($0) seconds without use, including time spent asleep."
                }
                    ?? "No inactivity time is set. Without other triggers, only a reboot locks the vault."),
            LockTriggerStatus(
                .kernelKeyring, hasKeyring,
                hasKeyring
                    ? "Keys in the kernel keyring expire after a timeout, even if this process hangs."
                    : "There is no kernel keyring, so keys do not outlive their process."),
        ]
    }
}
