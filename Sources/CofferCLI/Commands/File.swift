import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer file` command, which groups the subcommands for stored files.
struct FileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "file", abstract: "Store files with two layers of encryption.",
        discussion: """
            Specify a stored file by its name, its id, or the first four or more characters of its id. If \
            that matches several files, the command does nothing, lists their ids and ends with 10. A \
            complete id always means the file with that id; ./NAME always means a name, such as ./- for a \
            file named -.
            """,
        subcommands: [
            FileAdd.self, FileList.self, FileCat.self, FileExport.self, FileRename.self, FileVerify.self,
            FileRemove.self, FileView.self, FilePruneViews.self, FileRewrap.self, FileReindex.self,
            FileNames.self,
        ])
}

/// The `coffer file list` command, which lists the stored files.
struct FileList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the files with their ids, names, lengths and dates.",
        discussion: """
            A file whose container was deleted by another program is listed as missing. If a file is \
            missing, or the index is damaged or incomplete, the command reports it and ends with 7. If \
            there are session-only files, the column STATE shows them as volatile.
            """,
        aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.unlocked(global)
        let listing = try await vault.files.listing()
        try show(listing)
        let complaints = Self.complaints(listing)
        guard !complaints.isEmpty else { return }
        for complaint in complaints { Output.message("coffer: \(complaint)") }
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }

    /// Returns descriptions of the problems that the list itself does not show.
    private static func complaints(_ listing: FileListing) -> [String] {
        var complaints: [String] = []
        let missing = listing.files.filter { $0.state == .missing }
        if !missing.isEmpty {
            complaints.append(
                "Containers are missing (\(Plural.of(missing.count, "file"))), because another program "
                    + "deleted them. "
                    + CofferError.Remedy.restoreOrRemoveFile.sentence)
        }
        let unlisted = listing.unlisted.map(\.description).joined(separator: ", ")
        if listing.isIndexDamaged {
            complaints.append(
                "The file index is damaged. " + CofferError.Remedy.reindexFiles.sentence
                    + (unlisted.isEmpty ? "" : " Not listed: \(unlisted)."))
        } else if listing.isIndexBehind {
            complaints.append(
                "The file index does not list every container: the index is damaged or out of date, or "
                    + "another program added containers. "
                    + CofferError.Remedy.verifyAndReindexFiles.sentence + " Not listed: \(unlisted).")
        }
        return complaints
    }

    private func show(_ listing: FileListing) throws {
        guard !global.json else {
            var fields: [(String, JSONDocument)] = [("files", .list(listing.files.map(\.document)))]
            if listing.isIndexDamaged { fields.append(("indexDamaged", .flag(true))) }
            if listing.isIndexBehind { fields.append(("indexBehind", .flag(true))) }
            if listing.isIndexDamaged || listing.isIndexBehind {
                fields.append(("unlisted", .list(listing.unlisted.map { .text($0.description) })))
            }
            return try Output.json(.object(fields))
        }
        // Without session-only files, the column would be empty.
        let hasVolatile = listing.files.contains(where: \.isVolatile)
        let rows = listing.files.map { file -> [String] in
            var row = [
                file.id.description, file.name.string.printable, file.modified.iso8601,
                file.state == .missing ? "missing" : String(file.length),
            ]
            if hasVolatile { row.append(file.isVolatile ? "volatile" : "") }
            return row
        }
        var titles = ["ID", "NAME", "MODIFIED", "BYTES"]
        if hasVolatile { titles.append("STATE") }
        for line in TextTable.lines(titles, rows, numbers: [3]) {
            try Output.line(line)
        }
    }
}

extension FileInfo {
    fileprivate var document: JSONDocument {
        let bytes = FileNameBytes.of(name)
        var fields: [(String, JSONDocument)] = [("id", .text(id.description)), ("name", .text(name.string))]
        // JSON is UTF-8; a name need not be.
        if String(validating: bytes, as: UTF8.self) == nil {
            fields.append(("nameBytes", .list(bytes.map { .number(Int($0)) })))
        }
        return .object(
            fields + [
                ("length", .number(Int(length))), ("class", .text(protection.name)),
                ("modified", .text(modified.iso8601)), ("state", .text(state.rawValue)),
                ("volatile", .flag(isVolatile)),
            ])
    }
}

/// The `coffer file remove` command, which removes a stored file.
struct FileRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a file.", aliases: ["rm"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    func run() async throws {
        let reference = try file.reference()
        let vault = try await VaultOpener.unlocked(global)
        let id = try await reference.id(in: vault)
        guard try await vault.files.remove(id) else {
            throw CofferError(.absent, "There is no file with the id \(id).", remedy: .listFiles)
        }
        if global.json { try Output.json(.object([("removed", .flag(true))])) }
    }
}
