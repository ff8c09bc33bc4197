import ArgumentParser
import Coffer
import CofferBase
import CofferEngine

/// `coffer file view`
struct FileView: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "view",
        abstract: "Run a command on a temporary decrypted copy, which goes when the command ends.",
        discussion: """
            The copy lies in memory under the original name, read-only, for this user alone. {} in the \
            command stands for its path; without one, the path is added at the end. Ends with the command's \
            exit code.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String]

    func run() async throws {
        let id = try file.fileID()
        guard !command.isEmpty else { throw CofferError(.invalidInput, "A command is needed after --.") }
        let session = try await Opening.unlocked(global)
        if FileStore.isSwapActive {
            Output.message("coffer: swap is active: the copy in memory may be written to it.")
        }
        let code = try await session.files.withViewCopy(of: id) { path in
            try ChildProcess.run(Self.arguments(command, path: FileNameBytes.of(path)))
        }
        guard code == 0 else { throw ExitCode(code) }
    }

    /// The command with {} replaced by the path.
    private static func arguments(_ command: [String], path: [UInt8]) -> [[UInt8]] {
        let arguments = command.map { $0 == "{}" ? path : Array($0.utf8) }
        return command.contains("{}") ? arguments : arguments + [path]
    }
}

/// `coffer file reap`
struct FileReap: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reap", abstract: "Remove view copies whose owner is dead; print how many.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let location = try Opening.location(global)
        let count = try await Session.reapViewCopies(at: location)
        if global.json {
            try Output.json(.object([("reaped", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }
}
