import ArgumentParser
import Coffer
import CofferBase

/// `coffer file verify`
struct FileVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that every byte of a file is authentic.",
        discussion: """
            With --all, every file, and whether the containers are those that the index knows. Containers \
            that it does not know are named and never removed, and so are files whose containers are missing.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The id that `file add` printed.")
    var id: String?

    @Flag(help: "Check all files and the index.")
    var all = false

    @Option(help: "What was given as --context when the file was added.")
    var context: String?

    func run() async throws {
        guard (id == nil) == all else {
            throw CofferError(.invalidInput, "verify takes the id of a file, or --all.")
        }
        let one = try id.map { text throws(CofferError) in try FileID(text) }
        let session = try await VaultOpener.unlocked(global)
        guard let one else { return try show(try await session.files.verifyAll()) }
        try await session.files.verify(
            one, context: FileArgument.bytes(ofContext: context), progress: ProgressBar("verifying").report)
        if global.json {
            try Output.json(.object([("id", .text(one.description)), ("authentic", .flag(true))]))
        } else {
            try Output.line("\(one): authentic")
        }
    }

    private func show(_ report: IntegrityReport) throws {
        let lists = [
            ("damaged", report.damaged), ("orphans", report.orphans), ("missing", report.missing),
            ("contextNeeded", report.contextNeeded),
        ]
        if global.json {
            let ids = lists.map { ($0.0, JSONDocument.list($0.1.map { .text($0.description) })) }
            try Output.json(.object([("authentic", .number(report.authentic))] + ids))
        } else {
            try Output.line("\(report.authentic) files are authentic")
            let titles = ["damaged", "not in the index", "missing", "not checked, needs its context"]
            for (title, list) in zip(titles, lists) {
                for id in list.1 { try Output.line("\(id): \(title)") }
            }
        }
        guard !report.isClean else { return }
        for remedy in Self.remedies(report) { Output.message("coffer: \(remedy)") }
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }

    /// The next steps for the damage that was found.
    private static func remedies(_ report: IntegrityReport) -> [String] {
        var remedies: [String] = []
        if !report.damaged.isEmpty {
            remedies.append(
                "what is damaged can only be put back from a copy of the home, or removed with coffer file "
                    + "remove ID.")
        }
        if !report.orphans.isEmpty {
            remedies.append(
                "what is not in the index was put there by somebody else, or the index is older: coffer file "
                    + "reindex takes it in.")
        }
        if !report.missing.isEmpty {
            remedies.append(
                "the containers of missing files were deleted by something else than Coffer: put them back "
                    + "from a copy of the home, or clear each entry with coffer file remove ID.")
        }
        return remedies
    }
}

/// `coffer file reindex`
struct FileReindex: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reindex", abstract: "Make the index anew from the containers that are there.",
        discussion: """
            For an index that is damaged, and for containers that it does not know. Whatever is there and of \
            this vault counts from then on, also a copy that somebody put back.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await VaultOpener.unlocked(global)
        let unreadable = try await session.files.reindex()
        if global.json {
            try Output.json(.object([("unreadable", .list(unreadable.map { .text($0.description) }))]))
        } else {
            for id in unreadable { try Output.line("\(id): cannot be read, and is not in the index") }
        }
        guard unreadable.isEmpty else { throw ExitCode(CofferError.Code.corrupt.exitCode) }
    }
}
