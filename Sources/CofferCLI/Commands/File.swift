import ArgumentParser
import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// `coffer file`
struct FileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "file", abstract: "Store files with two layers of encryption.",
        subcommands: [
            FileAdd.self, FileList.self, FileCat.self, FileExport.self, FileVerify.self, FileRemove.self,
            FileView.self, FilePruneViews.self, FileRewrap.self, FileReindex.self,
        ])
}

/// The id of a stored file on the command line.
struct FileArgument: ParsableArguments {
    @Argument(help: "The id that `file add` printed.")
    var id: String

    @Option(help: "The --context that was specified when the file was added.")
    var context: String?

    func fileID() throws(CofferError) -> FileID { try FileID(id) }

    /// The context to which the file is bound, byte for byte.
    var boundBytes: [UInt8] { Self.bytes(ofContext: context) }

    static func bytes(ofContext text: String?) -> [UInt8] { text.map { ProgramArguments.bytes($0) } ?? [] }
}

/// `coffer file add`
struct FileAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Seal a copy of a file and print its id.",
        discussion: """
            --remove-original renames the original to NAME.removing-… before it removes it. If this command \
            is killed in between, the original stays under that name, unencrypted, and the next \
            --remove-original in that directory reports it. Other names of the file (hard links) stay; the \
            command reports them too.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "A regular file.", completion: .file())
    var path: String

    @Option(
        name: .customLong("class"),
        help: "When it can be read, and whether it may be exported.")
    var protection = ProtectionClassArgument.whenUnlockedThisDeviceOnly

    @Flag(
        help: "Remove the original once the sealed copy is safe. Its blocks may stay readable on the medium.")
    var removeOriginal = false

    @Option(help: "The cipher of the outer layer: chacha20-poly1305, or aes-256-gcm where FIPS rules apply.")
    var outerCipher = OuterCipherArgument.chaCha20Poly1305

    @Option(help: "Bind this text, which is not stored, into the file. Reading requires the same text.")
    var context: String?

    @Flag(help: "Add the file even if the vault is now on a removable medium or a network file system.")
    var allowExternal = false

    func run() async throws {
        let vault = try await VaultOpener.unlocked(global)
        let original = removeOriginal ? try FilePathArgument.path(path) : nil
        let links = original.flatMap { try? Descriptor.open($0, [.read, .nonBlocking]).status().links } ?? 1
        if let original { reportRemains(SourceFile.remains(beside: original)) }
        let id = try await add(to: vault)
        if links > 1 {
            Output.message(
                "coffer: \(path.printable) is removed, but the file has "
                    + "\(Plural.of(Int(links) - 1, "other name")) "
                    + "(hard links), which still hold its content unencrypted.")
        }
        if global.json {
            let isEncrypted = try await vault.files.isDiskEncrypted()
            try Output.json(
                .object([
                    ("id", .text(id.description)), ("diskEncrypted", isEncrypted.map { .flag($0) } ?? .none),
                ]))
        } else {
            try Output.line(id.description)
        }
    }

    private func reportRemains(_ remains: [FilePath]) {
        for path in remains {
            Output.message(
                "coffer: an interrupted removal left \(path.string.printable), unencrypted. If coffer file "
                    + "list shows the file, remove the leftover; otherwise add it again.")
        }
    }

    /// Adds the file. If a signal asks this process to end, rolls the unfinished addition back first.
    private func add(to vault: Vault) async throws -> FileID {
        let signals = TerminationSignals.install(cancellingWork: true)
        let result: Result<FileID, CofferError>
        do throws(CofferError) {
            result = .success(
                try await vault.files.add(
                    contentsOf: FilePathArgument.path(path), class: protection.protection,
                    outerCipher: outerCipher.suite, context: FileArgument.bytes(ofContext: context),
                    removingOriginal: removeOriginal, allowingExternalMedia: allowExternal,
                    progress: ProgressBar("sealing").report))
        } catch {
            result = .failure(error)
        }
        let received = TerminationSignals.received
        signals.release()
        if case .failure(let error) = result, error.code == .cancelled, let received {
            Output.message("coffer: \(error.message)")
            TerminationSignals.end(by: received)
        }
        return try result.get()
    }
}

/// `coffer file list`
struct FileList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List ids, names, lengths and dates of the files.",
        discussion: """
            A file whose container was deleted by another program is listed as missing. If a file is \
            missing, or the index is damaged or incomplete, the command reports it and ends with 7.
            """)

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

    /// Returns the problems that the list itself does not show.
    private static func complaints(_ listing: FileListing) -> [String] {
        var complaints: [String] = []
        let missing = listing.files.filter { $0.state == .missing }
        if !missing.isEmpty {
            complaints.append(
                "Containers are missing (\(Plural.of(missing.count, "file"))): another program deleted them. "
                    + CofferError.Remedy.restoreOrRemoveFile.sentence)
        }
        let unlisted = listing.unlisted.map(\.description).joined(separator: ", ")
        if listing.isIndexDamaged {
            complaints.append(
                "The index of files is damaged. " + CofferError.Remedy.reindexFiles.sentence
                    + (unlisted.isEmpty ? "" : " Not listed: \(unlisted)."))
        } else if listing.isIndexBehind {
            complaints.append(
                "The index of files does not list every container: it is damaged or older than they are, or "
                    + "another program put them there. "
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
        let rows = listing.files.map {
            [
                $0.id.description, $0.name.string.printable, $0.modified.iso8601,
                $0.state == .missing ? "missing" : String($0.length),
            ]
        }
        for line in TextTable.lines(["ID", "NAME", "MODIFIED", "BYTES"], rows, textColumns: 3) {
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
            ])
    }
}

/// `coffer file remove`
struct FileRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a file.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    func run() async throws {
        let id = try file.fileID()
        let vault = try await VaultOpener.unlocked(global)
        guard try await vault.files.remove(id) else {
            throw CofferError(.absent, "There is no file \(id).", remedy: .listFiles)
        }
        if global.json { try Output.json(.object([("removed", .flag(true))])) }
    }
}
