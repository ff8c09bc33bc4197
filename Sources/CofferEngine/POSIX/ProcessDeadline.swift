import Glibc

/// A time limit for a process that a shell runs while its user waits for a completion.
package enum ProcessDeadline {
    /// The exit code at the deadline, which is that of the error `timedOut`.
    private static let code: Int32 = 9

    /// Ends this process after the given number of seconds, whatever it waits for. Needs no thread, and
    /// writes nothing. Replaces any earlier deadline.
    package static func start(seconds: UInt32) {
        _ = unsafe SignalHandlers.install([SIGALRM]) { _, _, _ in _exit(ProcessDeadline.code) }
        _ = alarm(seconds)
    }
}
