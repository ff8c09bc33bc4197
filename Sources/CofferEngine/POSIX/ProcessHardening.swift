package import CofferBase
import Glibc
import CLinux

/// The settings that a process with secrets applies at the beginning of `main`.
package enum ProcessHardening {
    /// Disables core dumps and tracing by the same user, and restores the default action of fatal signals,
    /// because a crash handler would print registers and memory. Exceeding the limit on file sizes makes a
    /// write fail instead of ending the process. Afterwards, the umask no longer removes the owner's
    /// permissions from new files, because the owner must be able to open the vault directory.
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
        else { throw Errno.failure("disable core dumps", nil) }
    }

    /// Opens a placeholder for each standard stream that the caller closed. Reads from the placeholder for
    /// standard input, and writes to the others, fail. Without a placeholder, the next file to be opened,
    /// perhaps a vault file, would have the stream's number, and the next message would be written to that
    /// file.
    private static func ensureStandardDescriptors() throws(CofferError) {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where clinux_fcntl(number, F_GETFD, 0) < 0 {
            let mode = number == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard unsafe clinux_openat(AT_FDCWD, "/dev/null", mode, 0) == number else {
                throw Errno.failure("reserve file descriptor \(number)", nil)
            }
        }
    }
}
