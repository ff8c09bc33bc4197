import Dispatch
import Glibc
import Synchronization

/// Kills a child that runs for too long. Stop it before the child is reaped: afterwards the number may belong
/// to somebody else.
final class Deadline: Sendable {
    private enum State { case running, stopped, killed }

    private let state = Mutex(State.running)

    init(killing process: pid_t, after duration: Duration) {
        let parts = duration.components
        let time =
            DispatchTime.now() + .milliseconds(Int(parts.seconds) * 1000)
            + .nanoseconds(Int(parts.attoseconds / 1_000_000_000))
        DispatchQueue.global().asyncAfter(deadline: time) { [weak self] in self?.kill(process) }
    }

    private func kill(_ process: pid_t) {
        state.withLock { state in
            guard state == .running else { return }
            state = .killed
            _ = Glibc.kill(process, SIGKILL)
        }
    }

    /// Gives whether the child had been killed.
    func stop() -> Bool {
        state.withLock { state in
            if state == .running { state = .stopped }
            return state == .killed
        }
    }
}
