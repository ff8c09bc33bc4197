package import CofferBase
import Glibc

/// When the dynamic linker binds the symbols of a program's shared libraries.
///
/// A program of this package binds its own symbols at its start, because it is linked so. The shared
/// libraries of Swift and of the system mostly are not: the first call of each of their functions saves the
/// processor's registers on the stack, which may contain parts of a secret that was copied before, and
/// nothing clears them.
package enum ImmediateBinding {
    private static let name = "LD_BIND_NOW"

    /// Has all symbols bound at the start of the programs that this process starts or becomes from now on.
    ///
    /// - Throws: The system's error if the environment cannot be changed.
    package static func request() throws(CofferError) {
        guard unsafe setenv(name, "1", 1) == 0 else {
            throw Errno.failure("set an environment variable", nil)
        }
    }

    /// Leaves the programs that this process starts from now on as they are. Call this function before the
    /// process has another thread.
    package static func withdraw() { unsafe unsetenv(name) }
}
