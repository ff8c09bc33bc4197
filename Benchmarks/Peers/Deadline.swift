import Dispatch
import Glibc
import Synchronization

/// Kills a child process that runs too long. Stop it before the child is reaped: afterwards the process id
/// may belong to another process.
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

    /// Returns whether the child was killed.
    func stop() -> Bool {
        state.withLock { state in
            if state == .running { state = .stopped }
            return state == .killed
        }
    }
}
