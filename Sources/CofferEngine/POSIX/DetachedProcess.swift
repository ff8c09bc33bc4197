package import CofferBase
import Glibc
import CLinux

/// Programs that may go on running after this process has ended, such as a browser.
package enum DetachedProcess {
    /// The result of starting a program.
    package enum Outcome: Sendable, Equatable {
        /// The program has ended with this exit code, or with 128 + the signal's number.
        case ended(Int32)
        /// The program was still running after the given time. It goes on running.
        case running
    }

    /// Starts the program `arguments[0]`, which is looked up in PATH, in a session of its own, without input
    /// and output and without any other open descriptor, and waits for its end for a short time.
    ///
    /// - Parameters:
    ///   - arguments: The program's name and arguments.
    ///   - patience: The time to wait for the program's end.
    ///   - isCancelled: A closure that is called repeatedly; once it returns `true`, the wait ends.
    /// - Returns: The exit code, if the program has ended.
    /// - Throws: `invalidInput` if the command is invalid or does not specify a program that can be run; any
    ///   other error that occurs while starting the program.
    package static func start(
        _ arguments: [[UInt8]], patience: Duration, isCancelled: () -> Bool = { false }
    ) throws(CofferError) -> Outcome {
        let process = unsafe try ChildProcess.start(arguments, inOwnSession: true) { actions in
            unsafe posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
            // Other code of this process may have left descriptors open for programs.
            unsafe clinux_close_from(actions, STDERR_FILENO + 1)
        }
        let end = Clock.sinceBoot + patience
        while try !ChildProcess.hasExited(process) {
            guard Clock.sinceBoot < end, !isCancelled() else {
                // Otherwise, the process id would stay taken after the program's end.
                _ = Threads.begin { _ = reap(process) }
                return .running
            }
            Clock.sleep(for: .milliseconds(10))
        }
        return .ended(reap(process))
    }

    private static func reap(_ process: pid_t) -> Int32 {
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard Errno.current == EINTR else { return -1 }
        }
        return clinux_exit_code(status)
    }
}
