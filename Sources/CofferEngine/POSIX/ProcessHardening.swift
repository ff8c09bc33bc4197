package import CofferBase
import Glibc
import CLinux

/// What a process that holds secrets sets first thing in `main`.
package enum ProcessHardening {
    /// Switches core dumps and tracing by the same user off, and gives fatal signals their default action: a
    /// crash handler would print registers and memory.
    package static func apply() throws(CofferError) {
        for signal in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT] {
            clinux_default_signal(signal)
        }
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0,
            clinux_prctl(PR_SET_DUMPABLE, 0) == 0
        else { throw Errno.failure("switch core dumps off", nil) }
    }
}
