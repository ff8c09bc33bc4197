package import CofferBase
import Glibc
import CLinux
import SystemPackage

/// Functions that run a program that reads a secret from its standard input and writes one to its standard
/// output.
package enum Subprocess {
    /// A program's result.
    package struct Outcome: ~Copyable {
        /// The exit code, or 128 + the signal's number if a signal ended the program.
        package let code: Int32
        /// The bytes that the program wrote to its standard output.
        package let output: GuardedBytes

        /// Consumes the result and returns its output.
        package consuming func takeOutput() -> GuardedBytes { output }
    }

    /// The time that a program has to end after it is asked to, before it is killed.
    private static let grace = Duration.seconds(1)

    /// Runs the program `arguments[0]`, which is looked up in PATH, with `input` as its standard input. The
    /// input and the output exist only in guarded memory and in the pipes. While the program runs, signals
    /// that ``TerminationSignals`` receives are forwarded to it. If this process is killed and can no longer
    /// forward signals, the kernel sends the program a termination signal.
    ///
    /// - Parameters:
    ///   - arguments: The program's name and arguments.
    ///   - input: The bytes for the program's standard input.
    ///   - limit: The maximum number of bytes that the program may write.
    ///   - deadline: The maximum time that the program may run before it is ended.
    ///   - isCancelled: A closure that is called repeatedly; once it returns `true`, the program is ended.
    /// - Returns: The program's exit code and output.
    /// - Throws: `timedOut` if the program does not end in time; `cancelled` if `isCancelled` returns `true`;
    ///   `invalidInput` if the output is longer than `limit` or the command is invalid.
    package static func run(
        _ arguments: [[UInt8]], input: Span<UInt8>, limit: Int, deadline: Duration,
        isCancelled: () -> Bool = { false }
    ) throws(CofferError) -> Outcome {
        let incoming = try Pipe.make()
        let outgoing = try Pipe.make()
        let process = try ChildProcess.startBound(
            arguments, input: incoming.reader.raw, output: outgoing.writer.raw)
        TerminationSignals.startForwarding(to: process)
        var exchange = Exchange(
            process: process, reader: outgoing.takeReader(), writer: incoming.takeWriter(),
            collector: try GuardedBuffer.make(limit: limit), end: Clock.sinceBoot + deadline)
        do throws(CofferError) {
            try exchange.run(input, isCancelled: isCancelled)
        } catch {
            kill(process, SIGKILL)
            _ = try? ChildProcess.end(of: process)
            throw error
        }
        let code = try ChildProcess.end(of: process)
        return Outcome(code: code, output: try exchange.takeOutput())
    }

    /// The exchange of input and output with a running program.
    private struct Exchange: ~Copyable {
        let process: pid_t
        let reader: Descriptor
        var writer: Descriptor?
        var collector: GuardedBuffer
        let end: Duration
        var written = 0
        var hasEnded = false
        var stopped: (at: Duration, reason: CofferError)?

        /// Writes input and reads output until the program has ended. Does not wait for other processes that
        /// inherited the program's output.
        mutating func run(_ input: Span<UInt8>, isCancelled: () -> Bool) throws(CofferError) {
            while try !ChildProcess.hasExited(process) {
                try transfer(input, wait: hasEnded ? 2 : 50)
                try terminateIfNeeded(isCancelled)
            }
            while !hasEnded, try transfer(input, wait: 0) {}
            if let stopped { throw stopped.reason }
        }

        consuming func takeOutput() throws(CofferError) -> GuardedBytes { try collector.finish() }

        /// Writes input and reads output once. Returns whether any output was read.
        @discardableResult
        private mutating func transfer(_ input: Span<UInt8>, wait: CInt) throws(CofferError) -> Bool {
            if written == input.count { writer = nil }
            var target: CInt = -1
            switch writer {
            case .some(let writer): target = writer.raw
            case .none: break
            }
            var polls = [
                pollfd(fd: hasEnded ? -1 : reader.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: target, events: Int16(POLLOUT), revents: 0),
            ]
            let ready = unsafe polls.withUnsafeMutableBufferPointer { buffer in
                unsafe poll(buffer.baseAddress, nfds_t(buffer.count), wait)
            }
            guard ready >= 0 || Errno.current == EINTR else { throw Errno.failure("wait for", "pipe") }
            guard ready > 0 else { return false }
            if polls[1].revents != 0 { try writeSome(input, to: target) }
            guard polls[0].revents != 0 else { return false }
            hasEnded = try !collector.append { (span) throws(CofferError) in
                try reader.readSome(into: &span)
            }
            return !hasEnded
        }

        /// Writes as many bytes as the pipe accepts without blocking. It is not an error if the program stops
        /// reading, because its exit code determines whether it succeeded.
        private mutating func writeSome(_ input: Span<UInt8>, to target: CInt) throws(CofferError) {
            let piece = input.extracting(written..<min(input.count, written + Int(PIPE_BUF)))
            let count = BrokenPipe.ignoring {
                unsafe piece.withUnsafeBytes { unsafe Glibc.write(target, $0.baseAddress, $0.count) }
            }
            if count >= 0 {
                written += count
            } else if Errno.current == EPIPE {
                writer = nil
                written = input.count
            } else if Errno.current != EINTR {
                throw Errno.failure("write to", "pipe")
            }
        }

        private mutating func terminateIfNeeded(_ isCancelled: () -> Bool) throws(CofferError) {
            let now = Clock.sinceBoot
            if let stopped {
                if now >= stopped.at + grace { kill(process, SIGKILL) }
            } else if isCancelled() {
                stopped = (
                    now, CofferError(.cancelled, "The operation was cancelled, and the command was stopped.")
                )
                kill(process, SIGTERM)
            } else if now >= end {
                stopped = (
                    now, CofferError(.timedOut, "The command exceeded the time limit and was stopped.")
                )
                kill(process, SIGTERM)
            }
        }
    }
}
