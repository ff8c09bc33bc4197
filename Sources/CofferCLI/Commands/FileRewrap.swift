import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer file rewrap` command, which rewraps one file's keys or replaces the keys of all files.
struct FileRewrap: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewrap",
        abstract: "Rewrap the keys of one file, or replace the keys of all files.",
        discussion: """
            With a file, the command wraps that file's keys again under the current keys. Without one, it \
            creates new keys, wraps every file's keys under them and destroys the old ones. After that, no \
            remaining key opens a container copy made earlier, not even a removed file's. File contents are \
            not encrypted again. If the command is interrupted, the next run continues it.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: "The file's name, its id or the beginning of its id. Without a file, all files.",
        completion: FileArgument.completion)
    var file: String?

    @Option(help: "The --context that was specified when the file was added.")
    var context: String?

    func run() async throws {
        let reference = try file.map { text throws(CofferError) in try FileReference(text) }
        let vault = try await VaultOpener.unlocked(global)
        if let reference {
            let one = try await reference.id(in: vault)
            try await vault.files.rewrap(one, context: FileArgument.bytes(ofContext: context))
            if global.json {
                try Output.json(.object([("id", .text(one.description)), ("rewrapped", .flag(true))]))
            }
        } else {
            try show(try await vault.files.rotateKeys())
        }
    }

    private func show(_ report: KeyRotationReport) throws {
        if global.json {
            try Output.json(
                .object([
                    ("rewrapped", .number(report.rewrapped)),
                    ("destroyedKeys", .number(report.destroyedKeys)),
                    ("unreadable", .list(report.unreadable.map { .text($0.description) })),
                ]))
        } else {
            try Output.line("\(report.rewrapped) files rewrapped, \(report.destroyedKeys) old keys destroyed")
        }
        guard report.unreadable.isEmpty else {
            let ids = report.unreadable.map(\.description).joined(separator: ", ")
            Output.message("coffer: These files could not be read and keep the old keys: \(ids)")
            throw ExitCode(CofferError.Code.corrupt.exitCode)
        }
    }
}
