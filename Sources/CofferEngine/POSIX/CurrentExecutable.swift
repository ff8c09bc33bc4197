import CArguments
import CLinux
package import CofferBase
import Glibc
import SystemPackage

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

    /// Returns the path of a program in the directory of this one, which `PATH` does not decide.
    ///
    /// - Parameter name: The program's name.
    /// - Returns: The path.
    /// - Throws: The system's error if this program's own path cannot be read.
    package static func path(ofSibling name: String) throws(CofferError) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let size = buffer.count
        let count = unsafe readlink("/proc/self/exe", &buffer, size)
        let failure = Errno.failure("read", "/proc/self/exe")
        let link = count > 0 && count < size ? buffer[..<count].map { UInt8(bitPattern: $0) } : nil
        guard let own = link ?? startedPath else { throw failure }
        let end = own.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return Array(own[..<end]) + Array(name.utf8)
    }

    /// The path with which this program was started, with links resolved, for a process without /proc.
    /// `nil` if nothing is there any more.
    private static var startedPath: [UInt8]? {
        guard let given = unsafe carguments_program(), let path = unsafe realpath(given, nil) else {
            return nil
        }
        defer { unsafe free(path) }
        return unsafe UnsafeBufferPointer(start: path, count: strlen(path)).map { UInt8(bitPattern: $0) }
    }

    /// Replaces this process with a program in the directory of this one. The program inherits the
    /// descriptors that this process inherited, the terminal and the signals.
    ///
    /// - Parameters:
    ///   - name: The program's name.
    ///   - arguments: Its arguments.
    /// - Throws: `unsupported` if there is no such program; the system's error if it cannot be started. On
    ///   success, the call does not return.
    package static func become(sibling name: String, _ arguments: [[UInt8]]) throws(CofferError) {
        let path = try path(ofSibling: name)
        // A thread of this program may block signals, and a program inherits what its starter blocks.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
        do throws(CofferError) {
            try ChildProcess.become([path] + arguments)
        } catch {
            let code = ChildProcess.exitCode(ofFailedStart: error)
            guard code == ChildProcess.notFoundCode else { throw error }
            throw CofferError(
                .unsupported,
                "The program \(name) is not in the directory of this program. Install it there.")
        }
    }
}
