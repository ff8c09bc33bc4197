import Glibc

/// A time limit for a process that a shell runs while its user waits for a completion.
package enum ProcessDeadline {
    /// Ends this process after the given number of seconds, whatever it waits for. Needs no thread, and
    /// writes nothing. Replaces any earlier deadline.
    package static func start(seconds: UInt32) {
        // The exit code of the error `timedOut`. A handler may not wait for the initialisation of a constant.
        _ = unsafe SignalHandlers.install([SIGALRM]) { _, _, _ in _exit(9) }
        _ = alarm(seconds)
    }
}
