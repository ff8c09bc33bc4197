package import CofferBase
import Glibc
import CLinux

/// What a process that holds secrets sets first thing in `main`.
package enum ProcessHardening {
    /// Switches core dumps and tracing by the same user off, and gives fatal signals their default action: a
    /// crash handler would print registers and memory. A limit on the size of files is an error of the write
    /// that meets it, not the end of the process. A umask takes no rights from the files' owner: a home that
    /// nobody can open is of no use.
    package static func apply() throws(CofferError) {
        try ensureStandardDescriptors()
        for signal in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT] {
            clinux_default_signal(signal)
        }
        clinux_survive_signal(SIGXFSZ)
        _ = umask(umask(0o077) & 0o077)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0,
            clinux_prctl(PR_SET_DUMPABLE, 0) == 0
        else { throw Errno.failure("switch core dumps off", nil) }
    }

    /// A standard stream that the caller closed gets a placeholder that cannot be used for its purpose.
    /// Otherwise the next file to be opened, perhaps one of the vault, would take its number, and the next
    /// message would be written into it.
    private static func ensureStandardDescriptors() throws(CofferError) {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where clinux_fcntl(number, F_GETFD, 0) < 0 {
            let mode = number == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard unsafe clinux_openat(AT_FDCWD, "/dev/null", mode, 0) == number else {
                throw Errno.failure("occupy descriptor \(number)", nil)
            }
        }
    }
}
