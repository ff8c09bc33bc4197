import CArguments
package import CofferBase
import Glibc

/// The program that this process runs.
package enum CurrentExecutable {
    /// Restarts the program in this process with the same arguments and one environment variable changed.
    /// Call this function only before any secret exists.
    ///
    /// - Throws: The system's error if the restart fails. On success, the call does not return.
    package static func reexec(setting name: String, to value: String) throws(CofferError) {
        guard unsafe setenv(name, value, 1) == 0 else {
            throw Errno.failure("set an environment variable", nil)
        }
        _ = unsafe execv("/proc/self/exe", carguments_vector())
        throw Errno.failure("restart this program", nil)
    }
}
