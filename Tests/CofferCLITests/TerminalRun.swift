import Testing
import TestSupport

/// A command that ran on a terminal of its own, and what appeared there: see terminal.py.
struct TerminalRun {
    /// The exit code; negative: the signal that ended it.
    let code: Int
    /// All that appeared on the terminal.
    let shown: String
    /// Whether the echo was off at each prompt.
    let isQuiet: Bool
    /// Whether the echo was on at the end.
    let echoesAtEnd: Bool
    /// The number of prompts that were answered.
    let prompts: Int

    /// Runs the command of this package and answers its prompts in order.
    static func coffer(_ answers: [String], _ arguments: [String]) throws -> TerminalRun {
        try run(answers, [CommandRun.cofferPath] + arguments)
    }

    /// Runs a program, looked up in PATH, and answers its prompts in order; `hasEcho` is whether the terminal
    /// has an echo from the start.
    static func run(
        _ answers: [String], _ command: [String], environment: [String: String] = [:], hasEcho: Bool = true
    ) throws -> TerminalRun {
        let script = PackageRoot.path + "Tests/Faults/terminal.py"
        let options = hasEcho ? [] : ["--no-echo"]
        let run = try CommandRun.run(
            "python3", [script] + options + answers + ["--"] + command, environment: environment)
        try #require(run.code == 0, "\(run.errorText)")
        return TerminalRun(
            code: try #require(run.json["code"] as? Int), shown: run.json["shown"] as? String ?? "",
            isQuiet: run.json["quiet"] as? Bool ?? false,
            echoesAtEnd: run.json["echoAtEnd"] as? Bool ?? false,
            prompts: run.json["prompts"] as? Int ?? 0)
    }
}
