import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// Functions that ask another program of this package for its commands and for completions of words.
enum ProgramDescription {
    /// The arguments with which a program describes its commands as JSON.
    static let request = ["--experimental-dump-help"]

    private static let maxByteCount = 1 << 20
    /// A shorter time than the deadline of a completion, so that the other program ends first.
    private static let deadline = Duration.seconds(3)

    /// Asks a program for the description of its root command.
    ///
    /// - Parameter command: A function that returns the program and ``request``.
    /// - Returns: The description; `nil` if the program cannot be run or does not give it.
    static func commands(
        _ command: @Sendable @escaping () throws(CofferError) -> [[UInt8]]
    ) async -> JSONValue? {
        guard let text = await output(command) else { return nil }
        return try? JSONValue(parsing: text)["command"]
    }

    /// Runs a program.
    ///
    /// - Parameter command: A function that returns the program and its arguments.
    /// - Returns: The program's standard output; `nil` if the program fails or cannot be run.
    static func output(
        _ command: @Sendable @escaping () throws(CofferError) -> [[UInt8]]
    ) async -> [UInt8]? {
        try? await BlockingExecutor.run { cancellation throws(CofferError) -> [UInt8]? in
            let none = [UInt8]()
            let outcome = try Subprocess.run(
                try command(), input: none.span, limit: maxByteCount, deadline: deadline,
                isCancelled: { cancellation.isCancelled })
            guard outcome.code == 0 else { return nil }
            let output = outcome.takeOutput()
            return output.span.copied()
        }
    }
}
