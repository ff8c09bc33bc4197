import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer file verify` command, which checks that every byte of a file is authentic.
struct FileVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that every byte of a file is authentic.",
        discussion: """
            With --all, checks every file and checks that the containers match the index. The command \
            reports containers that the index does not list, and files whose containers are missing, but \
            removes neither.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: FileArgument.help, completion: FileArgument.completion)
    var file: String?

    @Flag(help: "Check all files and the index.")
    var all = false

    @Option(help: "The --context that was specified when the file was added.")
    var context: String?

    func run() async throws {
        guard (file == nil) == all else {
            throw CofferError(.invalidInput, "Specify either a file or --all.")
        }
        let reference = try file.map { text throws(CofferError) in try FileReference(text) }
        let vault = try await VaultOpener.unlocked(global)
        guard let reference else { return try show(try await vault.files.verifyAll()) }
        let one = try await reference.id(in: vault)
        try await vault.files.verify(
            one, context: FileArgument.bytes(ofContext: context), progress: ProgressBar("verifying").report)
        if global.json {
            try Output.json(.object([("id", .text(one.description)), ("authentic", .flag(true))]))
        } else {
            try Output.line("\(one): authentic")
        }
    }

    private func show(_ report: IntegrityReport) throws {
        let lists = [
            ("damaged", report.corrupt), ("orphans", report.orphans), ("missing", report.missing),
            ("contextNeeded", report.contextNeeded),
        ]
        if global.json {
            let ids = lists.map { ($0.0, JSONDocument.list($0.1.map { .text($0.description) })) }
            try Output.json(.object([("authentic", .number(report.authentic))] + ids))
        } else {
            try Output.line(
                "\(Plural.of(report.authentic, "file")) \(report.authentic == 1 ? "is" : "are") authentic")
            let titles = ["damaged", "not in the index", "missing", "not checked, needs its context"]
            for (title, list) in zip(titles, lists) {
                for id in list.1 { try Output.line("\(id): \(title)") }
            }
        }
        guard !report.isClean else { return }
        for remedy in Self.remedies(report) { Output.message("coffer: \(remedy)") }
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }

    /// Returns sentences with the next steps for the problems that were found.
    private static func remedies(_ report: IntegrityReport) -> [String] {
        let restore = CofferError.Remedy.restoreOrRemoveFile.sentence
        var remedies: [String] = []
        if !report.corrupt.isEmpty {
            remedies.append("A damaged file cannot be repaired. \(restore)")
        }
        if !report.orphans.isEmpty {
            remedies.append(
                "The index is older than the containers that it does not list, or another program added "
                    + "those containers. "
                    + CofferError.Remedy.reindexFiles.sentence)
        }
        if !report.missing.isEmpty {
            remedies.append("Another program deleted the containers of the missing files. \(restore)")
        }
        return remedies
    }
}

/// The `coffer file reindex` command, which rebuilds the index from the existing containers.
struct FileReindex: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reindex", abstract: "Rebuild the index from the existing containers.",
        discussion: """
            Use this command if the index is damaged or does not list every container. Afterwards, the \
            index lists every existing container of this vault, including an old copy that another program \
            put back.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.unlocked(global)
        let unreadable = try await vault.files.reindex()
        if global.json {
            try Output.json(.object([("unreadable", .list(unreadable.map { .text($0.description) }))]))
        } else {
            for id in unreadable { try Output.line("\(id): could not be read and is not in the index") }
        }
        guard unreadable.isEmpty else { throw ExitCode(CofferError.Code.corrupt.exitCode) }
    }
}
