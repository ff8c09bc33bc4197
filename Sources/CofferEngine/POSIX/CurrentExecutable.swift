import CArguments
package import CofferBase
import Glibc

/// The program that this process runs.
package enum CurrentExecutable {
    /// Runs it again from its beginning, in this process and with the same arguments, with one variable of
    /// its environment changed. Only before anything secret exists.
    ///
    /// - Throws: What hinders it; it does not return otherwise.
    package static func reexec(setting name: String, to value: String) throws(CofferError) {
        guard unsafe setenv(name, value, 1) == 0 else { throw Errno.failure("set a variable", nil) }
        _ = unsafe execv("/proc/self/exe", carguments_vector())
        throw Errno.failure("start this program again", nil)
    }
}
