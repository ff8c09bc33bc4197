package import CofferBase
import Glibc

/// A peer program that keeps running and answers each line of input with one line, so that its start is not
/// timed.
///
/// `@unchecked Sendable` holds because the one task that runs the benchmarks talks to it.
@safe package final class PeerConversation: @unchecked Sendable {
    private let name: String
    private let process: pid_t
    private let socket: CInt
    private var received: [UInt8] = []

    private init(name: String, process: pid_t, socket: CInt) {
        self.name = name
        self.process = process
        self.socket = socket
    }

    deinit {
        close(socket)
        kill(process, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Starts the program with its input and output on one socket.
    package static func start(
        _ program: PeerProgram, _ arguments: [String]
    ) throws(CofferError) -> PeerConversation {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw PeerFailure.failed("socketpair") }
        defer { close(ends[1]) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        let strings = ArgumentVector([program.path] + arguments)
        var process: pid_t = 0
        let status = unsafe posix_spawn(&process, program.path, &actions, nil, strings.pointers, environ)
        guard status == 0 else {
            close(ends[0])
            throw PeerFailure.failed("posix_spawn of \(program.name)")
        }
        return PeerConversation(name: program.name, process: process, socket: ends[0])
    }

    /// Sends `line` and waits for the answer.
    ///
    /// Throws `timedOut` if none arrives in time, `internalFailure` if the program has ended.
    package func ask(_ line: String, deadline: Duration) throws(CofferError) -> String {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 || errno == EINTR else { throw PeerFailure.failed("\(name), which is gone,") }
            rest = rest.dropFirst(max(count, 0))
        }
        return try answer(until: .now + deadline)
    }

    /// Bytes in hexadecimal, to be sent in a line.
    package static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func answer(until end: ContinuousClock.Instant) throws(CofferError) -> String {
        while true {
            if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<newline], as: UTF8.self)
                received.removeFirst(newline + 1)
                return line
            }
            let left = ContinuousClock.now.duration(to: end).components.seconds
            var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&wait, 1, CInt(clamping: max(left, 0) * 1000))
            guard ready != 0 else { throw CofferError(.timedOut, "\(name) does not answer.") }
            guard ready > 0 || errno == EINTR else { throw PeerFailure.failed("poll") }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = ready > 0 ? unsafe recv(socket, &bytes, bytes.count, 0) : 0
            guard ready < 0 || count > 0 else { throw PeerFailure.failed("\(name), which is gone,") }
            received += bytes.prefix(max(count, 0))
        }
    }
}
