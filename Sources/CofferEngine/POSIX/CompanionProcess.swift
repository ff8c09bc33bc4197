package import CofferBase
import Glibc
import CLinux
import Synchronization
import SystemPackage

/// Another program that runs beside this process until its owner goes. Its standard input is a pipe that
/// closes when this process ends, however it ends; what it prints is dropped.
package final class CompanionProcess: Sendable {
    private let process: pid_t
    private let input: Descriptor
    private let isOver = Mutex(false)

    private init(process: pid_t, input: consuming Descriptor) {
        self.process = process
        self.input = input
    }

    deinit { end() }

    /// Starts `arguments[0]`, looked up in PATH.
    ///
    /// - Throws: `invalidInput` for what is no command; what hinders starting it.
    package static func start(_ arguments: [[UInt8]]) throws(CofferError) -> CompanionProcess {
        var ends: [CInt] = [-1, -1]
        guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe clinux_pipe($0.baseAddress) }) == 0
        else { throw Errno.failure("make a pipe", nil) }
        let reader = Descriptor(raw: ends[0], path: "pipe")
        let writer = Descriptor(raw: ends[1], path: "pipe")
        let process = unsafe try ChildProcess.start(arguments) { actions in
            unsafe posix_spawn_file_actions_adddup2(actions, reader.raw, STDIN_FILENO)
            unsafe posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO)
        }
        return CompanionProcess(process: process, input: writer)
    }

    /// Whether it runs, or is stopped.
    package var isRunning: Bool {
        isOver.withLock { isOver in
            guard !isOver else { return false }
            var information = unsafe siginfo_t()
            unsafe clinux_clear_process(&information)
            guard unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG) == 0
            else { return false }
            return unsafe clinux_process(&information) == 0
        }
    }

    /// Stops it where it is: it does nothing until ``resume()``.
    package func stop() { signal(SIGSTOP) }

    /// Lets it go on.
    package func resume() { signal(SIGCONT) }

    /// Ends it at once, as a crash would, also while it is stopped, and waits until it is gone.
    package func end() {
        isOver.withLock { isOver in
            guard !isOver else { return }
            isOver = true
            kill(process, SIGKILL)
            while waitpid(process, nil, 0) < 0, Errno.current == EINTR {}
        }
    }

    /// The number is its own until it was waited for.
    private func signal(_ number: CInt) { isOver.withLock { if !$0 { kill(process, number) } } }
}
