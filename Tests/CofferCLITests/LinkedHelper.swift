import Foundation
import TestSupport

/// A home, and a folder of PATH in which this command has the name under which another program calls it.
final class LinkedHelper {
    let home: CommandHome
    private let folder: URL
    private let name: String

    init(_ name: String, passcode: String? = nil) throws {
        self.name = name
        home = try CommandHome(passcode: passcode)
        folder = home.folder.appending(path: "bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: name).path(percentEncoded: false),
            withDestinationPath: CommandRun.cofferPath)
    }

    /// The other program's environment: a separate home, the folder first in PATH, and no way to prompt.
    private var environment: [String: String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return [
            "HOME": home.folder.path(percentEncoded: false), "COFFER_HOME": home.path,
            "PATH": folder.path(percentEncoded: false) + ":" + path, "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
        ]
    }

    /// Calls the helper by its own name.
    func callAsFunction(_ action: String, _ input: String) throws -> CommandRun {
        try CommandRun.run(name, [action], input: Array(input.utf8), environment: environment)
    }

    /// Calls the helper by its own name, with a terminal that is not its standard input.
    func onTerminal(
        _ answers: [String], _ action: String, _ input: String, mayAsk: Bool = true
    ) throws -> TerminalRun {
        try onTerminal(answers, [name, action], input, mayAsk: mayAsk)
    }

    /// Runs another program, which may call the helper, with a terminal that is not its standard input.
    func onTerminal(
        _ answers: [String], _ command: [String], _ input: String, mayAsk: Bool = true
    ) throws -> TerminalRun {
        let script = "input=$1; shift; printf %s \"$input\" | \"$@\""
        return try TerminalRun.run(
            answers, ["sh", "-c", script, "sh", input] + command,
            environment: environment.merging(["GIT_TERMINAL_PROMPT": mayAsk ? "1" : "0"]) { $1 })
    }

    /// Runs another program, which may call the helper.
    func run(_ program: String, _ arguments: [String], input: String) throws -> CommandRun {
        try CommandRun.run(program, arguments, input: Array(input.utf8), environment: environment)
    }
}
