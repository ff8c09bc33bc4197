import ArgumentParser
import Coffer
import CofferBase

/// `coffer file rewrap`
struct FileRewrap: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewrap",
        abstract: "Wrap the keys of one file anew, or replace the keys of all files.",
        discussion: """
            With an id, the keys of that file are wrapped anew under the current keys. Without one, new keys \
            are made, the keys of every file are wrapped under them, and the old ones are destroyed: a copy \
            of a container made before, of a removed file too, opens with nothing that is left. No content \
            is encrypted again. What was interrupted goes on with the next call.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The id that `file add` printed; all files without one.")
    var id: String?

    @Option(help: "What was given as --context when the file was added.")
    var context: String?

    func run() async throws {
        let one = try id.map { text throws(CofferError) in try FileID(text) }
        let session = try await VaultOpener.unlocked(global)
        if let one {
            try await session.files.rewrap(one, context: FileArgument.bytes(ofContext: context))
            if global.json {
                try Output.json(.object([("id", .text(one.description)), ("rewrapped", .flag(true))]))
            }
        } else {
            try show(try await session.files.rotateKeys())
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
            Output.message("coffer: cannot be read, and keep the old keys: \(ids)")
            throw ExitCode(CofferError.Code.corrupt.exitCode)
        }
    }
}
