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
            exit code. A signal that ends this command goes to that one, and the copy goes as always. With \
            --json, the command's standard output goes to standard error, and the document has its exitCode. \
            The copy also goes when the screen locks or the machine sleeps meanwhile.
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
        await session.followLockSources()
        let signals = EndSignals.hold()
        let result = await Task { try await view(id, session) }.result
        signals.release()
        let code = try result.get()
        if global.json { try Output.json(.object([("exitCode", .number(Int(code)))])) }
        guard code == 0 else { throw ExitCode(code) }
    }

    /// Runs the command on the copy; gives its exit code.
    private func view(_ id: FileID, _ session: Session) async throws -> Int32 {
        try await session.files.withViewCopy(of: id, context: file.boundBytes) { path in
            // It takes a while to make the copy of a long file.
            if let number = EndSignals.received { return 128 + number }
            return try ChildProcess.run(
                Self.arguments(command, path: FileNameBytes.of(path)), outputToErrors: global.json)
        }
    }

    /// The command with {} replaced by the path.
    private static func arguments(_ command: [String], path: [UInt8]) -> [[UInt8]] {
        let arguments = command.map { $0 == "{}" ? path : ProgramArguments.bytes($0) }
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
