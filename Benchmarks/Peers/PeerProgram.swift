package import CofferBase
import Glibc

/// A program found in PATH at run time, run as a child process and timed by the caller.
///
/// Its input is a file, or empty. Its standard output is kept or discarded, and its standard error is
/// discarded.
package struct PeerProgram: Sendable {
    /// The program's name.
    package let name: String
    /// Where it was found.
    package let path: String

    /// Finds the program called `name`; returns `nil` if PATH has none.
    package static func find(_ name: String) -> PeerProgram? {
        let variable =
            unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        for folder in variable.split(separator: ":") {
            let path = "\(folder)/\(name)"
            if unsafe access(path, X_OK) == 0 { return PeerProgram(name: name, path: path) }
        }
        return nil
    }

    /// The program at `path`; `nil` if there is none.
    package static func at(_ path: String) -> PeerProgram? {
        guard unsafe access(path, X_OK) == 0 else { return nil }
        return PeerProgram(name: path.split(separator: "/").last.map(String.init) ?? path, path: path)
    }

    /// The first line that the program prints with `arguments`, from its first digit on; `nil` if it does not
    /// answer.
    package func version(_ arguments: [String] = ["--version"]) -> String? {
        guard let text = try? output(arguments, deadline: .seconds(10)),
            let line = text.split(separator: "\n").first
        else { return nil }
        let number = line.drop { !$0.isNumber }.prefix { !$0.isWhitespace && $0 != "," }
        return number.isEmpty ? String(line.prefix(40)) : String(number)
    }

    /// Runs the program to its end. It reads the file `input`.
    ///
    /// Throws `timedOut` when it had to be killed at the deadline, `internalFailure` for an exit code other
    /// than 0.
    package func run(
        _ arguments: [String], input: String = "/dev/null", deadline: Duration
    ) throws(CofferError) {
        try run(arguments, input: input, output: nil, deadline: deadline)
    }

    /// Runs the program and returns its output, at most 64 KiB.
    package func output(
        _ arguments: [String], input: String = "/dev/null", deadline: Duration
    ) throws(CofferError) -> String {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw PeerFailure.failed("pipe") }
        defer { for end in ends where end >= 0 { close(end) } }
        try run(arguments, input: input, output: ends[1], deadline: deadline)
        close(ends[1])
        ends[1] = -1
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    private func run(
        _ arguments: [String], input: String, output: CInt?, deadline: Duration
    ) throws(CofferError) {
        let process = try start(arguments, input: input, output: output)
        let watch = Deadline(killing: process, after: deadline)
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let late = watch.stop()
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        if late { throw CofferError(.timedOut, "\(name) did not end within \(deadline).") }
        guard status == 0 else {
            throw CofferError(.internalFailure, "\(name) failed with status \(status).")
        }
    }

    private func start(
        _ arguments: [String], input: String, output: CInt?
    ) throws(CofferError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        if let output {
            unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        }
        let strings = ArgumentVector([path] + arguments)
        var process: pid_t = 0
        let status = unsafe posix_spawn(&process, path, &actions, nil, strings.pointers, environ)
        guard status == 0 else { throw PeerFailure.failed("posix_spawn of \(name)") }
        return process
    }
}
