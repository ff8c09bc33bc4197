package import CofferBase
import Glibc
import CLinux
import Synchronization
import SystemPackage

/// A child program that runs until this object is released. The program's standard input is a pipe that
/// closes when this process ends for any reason, and its output is discarded unless requested.
package final class BoundChildProcess: Sendable {
    /// The process id, which the kernel does not reuse before ``ended()`` or ``end()`` has returned.
    package let identifier: Int32
    private let input: Descriptor
    private let output: Descriptor?
    /// The exit code, or `nil` until this process has waited for the program.
    private let code = Mutex<Int32?>(nil)

    private init(process: pid_t, input: consuming Descriptor, output: consuming Descriptor?) {
        identifier = process
        self.input = input
        self.output = output
    }

    deinit { end() }

    /// Starts the program `arguments[0]`, which is looked up in PATH.
    ///
    /// - Parameters:
    ///   - arguments: The program's name and arguments.
    ///   - readsOutput: Whether ``read(into:)`` returns the program's standard output.
    /// - Returns: The running program.
    /// - Throws: `invalidInput` if the command is invalid; any other error that occurs while starting the
    ///   program.
    package static func start(
        _ arguments: [[UInt8]], readsOutput: Bool = false
    ) throws(CofferError) -> BoundChildProcess {
        let incoming = try Pipe.make()
        let outgoing = readsOutput ? try Pipe.make() : nil
        let target: CInt? =
            switch outgoing {
            case .some(let ends): ends.writer.raw
            case .none: nil
            }
        let process = unsafe try ChildProcess.start(arguments) { actions in
            unsafe posix_spawn_file_actions_adddup2(actions, incoming.reader.raw, STDIN_FILENO)
            unsafe posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(actions, target ?? STDERR_FILENO, STDOUT_FILENO)
        }
        return BoundChildProcess(
            process: process, input: incoming.takeWriter(), output: outgoing?.takeReader())
    }

    /// Writes all bytes to the program's standard input.
    ///
    /// - Throws: `inputOutput` if the program no longer reads its standard input.
    package func write(_ bytes: Span<UInt8>) throws(CofferError) {
        var written = 0
        while written < bytes.count {
            let remaining = bytes.extracting(written...)
            let count = BrokenPipe.ignoring {
                unsafe remaining.withUnsafeBytes { unsafe Glibc.write(input.raw, $0.baseAddress, $0.count) }
            }
            guard count >= 0 || Errno.current == EINTR else { throw Errno.failure("write to", "pipe") }
            written += max(0, count)
        }
    }

    /// Reads from the program's standard output with one call. Returns the number of bytes read, or `nil` at
    /// the end or if the output is discarded.
    package func read(into buffer: inout MutableSpan<UInt8>) throws(CofferError) -> Int? {
        try output?.readSome(into: &buffer)
    }

    /// Whether the program is running or suspended.
    package var isRunning: Bool {
        code.withLock { code in
            guard code == nil else { return false }
            return (try? ChildProcess.hasExited(identifier)) == false
        }
    }

    /// Suspends the program until ``resume()`` is called.
    package func stop() { signal(SIGSTOP) }

    /// Resumes the suspended program.
    package func resume() { signal(SIGCONT) }

    /// Kills the program immediately, as a crash would, even while it is suspended, and waits until it has
    /// ended.
    package func end() {
        signal(SIGKILL)
        _ = ended()
    }

    /// Waits until the program ends. Returns its exit code, 128 + the signal's number if a signal ended it,
    /// or -1 if the system does not report the exit code.
    @discardableResult
    package func ended() -> Int32 {
        // Wait without the lock, so that another thread can end the program in the meantime.
        var information = unsafe siginfo_t()
        while code.withLock({ $0 == nil }),
            unsafe waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0,
            Errno.current == EINTR
        {}
        return code.withLock { code in
            if let code { return code }
            var status: CInt = 0
            var result: pid_t = -1
            repeat {
                result = unsafe waitpid(identifier, &status, 0)
            } while result < 0 && Errno.current == EINTR
            let found = result < 0 ? -1 : clinux_exit_code(status)
            code = found
            return found
        }
    }

    /// Sends a signal to the program unless this process has already waited for it, because its id could then
    /// belong to another process.
    private func signal(_ number: CInt) { code.withLock { if $0 == nil { kill(identifier, number) } } }
}
