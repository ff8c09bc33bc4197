import CLinux
import Glibc

/// A time limit for a process that a shell runs while its user waits for a completion.
package enum ProcessDeadline {
    /// Ends this process after the given number of seconds, whatever it waits for, and even if it was started
    /// with the signal ignored or blocked. Writes nothing. Replaces any earlier deadline.
    package static func start(seconds: UInt32) {
        // The exit code of the error `timedOut`. A handler may not wait for the initialisation of a constant.
        _ = unsafe SignalHandlers.install([SIGALRM], evenIfIgnored: true) { _, _, _ in _exit(9) }
        ProcessDeadline.unblock()
        // libdispatch's threads block all signals, and this thread may be one of them or end before.
        _ = Threads.begin {
            ProcessDeadline.unblock()
            while true { pause() }
        }
        _ = alarm(seconds)
    }

    /// Lets the calling thread receive the signal.
    private static func unblock() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}
