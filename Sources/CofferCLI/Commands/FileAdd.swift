import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer file add` command, which stores encrypted copies of files.
struct FileAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Seal copies of files and print their ids.",
        discussion: """
            The ids are printed in the order of the arguments, each once its file is safely stored. If a \
            file cannot be added, the command stops; the files that it has already added stay. If a name \
            then belongs to several files, a message says so: each of them can be specified only by its id.

            --recursive adds every regular file in a directory and its subdirectories under the file's own \
            name; directory names are not stored, so files from several directories can get the same name. \
            Links and special files are reported and left out. Without --recursive, a directory is refused, \
            because a directory specified by mistake could contain a large number of files.

            - stands for standard input, which requires --name, as does a pipe. The input is sealed as it \
            arrives, and no plaintext is written to disk. A program that fails while writing looks like one \
            that has written everything, so check its exit code, as bash does with set -o pipefail.

            If a signal such as Ctrl-C ends the command, the command first removes any incomplete file. \
            After kill -9, coffer file list removes the incomplete file, as does any command that adds or \
            removes a file or looks one up by name.

            --remove-original renames the original to NAME.removing-… before removing it. If this command is \
            killed in between, the original remains under that name, unencrypted, and the next \
            --remove-original in that directory reports it. Other names of the file (hard links) remain; the \
            command reports them too.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: "Regular files; with --recursive, directories; with --name, - or a pipe.",
        completion: .file())
    var paths: [String]

    @Option(help: "The name to store, instead of the file's own.")
    var name: String?

    @Flag(name: .shortAndLong, help: "Also add the files in directories, each under its own name alone.")
    var recursive = false

    @Option(
        name: .customLong("class"),
        help: "When the file can be read, and whether it may be exported; without it, the vault's default.")
    var protection: ProtectionClassArgument?

    @Flag(
        help: "Remove the original once the sealed copy is safe. Its data may stay readable on the medium.")
    var removeOriginal = false

    @Option(help: "The outer layer's cipher: chacha20-poly1305, or aes-256-gcm where FIPS rules apply.")
    var outerCipher = OuterCipherArgument.chaCha20Poly1305

    @Option(help: "Bind this text to the file without storing it. Reading the file requires the same text.")
    var context: String?

    @Flag(
        name: .customLong("volatile"),
        help: """
            Keep the file's key only in the kernel keyring, until the next lock or the inactivity time. The \
            file is then unreadable, and the next file command removes it.
            """)
    var isVolatile = false

    @Flag(help: "Add the file even if the vault is now on a removable medium or a network file system.")
    var allowExternal = false

    @Flag(
        help: """
            Add nothing unless the disk that holds the vault is known to be encrypted, as by LUKS or \
            fscrypt. To always require this, see coffer settings.
            """)
    var requireDiskEncryption = false

    func run() async throws {
        let given = try name.map { text throws(CofferError) in try Self.component(text) }
        let inputs = try FileInputs(
            paths, isNamed: given != nil, isRecursive: recursive, home: global.homePath())
        try checkOriginals(inputs)
        let passcode = try VaultOpener.passcode(global)
        let vault = try await VaultOpener.unlocked(global, with: passcode)
        if requireDiskEncryption { try await vault.files.checkDiskEncryption() }
        for path in inputs.skipped {
            Output.message(
                "coffer: Skipped \(path.string.printable), which is not a regular file or is the vault.")
        }
        let added = try await addAll(inputs.sources, given, to: vault, passcode)
        await SharedNames.report(added.compactMap { given ?? $0.source.name }, in: vault)
        guard global.json else { return }
        let isEncrypted = try await vault.files.isDiskEncrypted()
        var members: [(String, JSONDocument)] = []
        if added.count == 1 { members.append(("id", .text(added[0].id.description))) }
        let files = added.map { file in
            JSONDocument.object([("id", .text(file.id.description)), ("path", .text(file.source.text))])
        }
        members.append(("files", .list(files)))
        members.append(("skipped", .list(inputs.skipped.map { .text($0.string) })))
        members.append(("diskEncrypted", isEncrypted.map { .flag($0) } ?? .none))
        try Output.json(.object(members))
    }

    private static func component(_ text: String) throws(CofferError) -> FilePath.Component {
        guard let name = FileNameBytes.component(ProgramArguments.bytes(text)) else {
            throw CofferError(.invalidInput, "--name takes a file name without a slash.")
        }
        return name
    }

    private func checkOriginals(_ inputs: FileInputs) throws(CofferError) {
        guard removeOriginal else { return }
        guard !isVolatile else {
            throw CofferError(.invalidInput, "--remove-original does not go with --volatile.")
        }
        for source in inputs.sources {
            guard case .file = source else {
                throw CofferError(.invalidInput, "--remove-original works only for regular files.")
            }
        }
    }

    /// Adds the files one after another. On a termination signal, rolls back the unfinished addition before
    /// the process ends.
    private func addAll(
        _ sources: [FileInputs.Source], _ name: FilePath.Component?, to vault: Vault, _ passcode: Passcode?
    ) async throws -> [(source: FileInputs.Source, id: FileID)] {
        var added: [(source: FileInputs.Source, id: FileID)] = []
        var first: CofferError?
        let signals = TerminationSignals.install(cancellingWork: true)
        for source in sources {
            do throws(CofferError) {
                let id = try await add(source, name, to: vault, passcode)
                added.append((source, id))
                if !global.json { try Output.line(id.description) }
            } catch {
                first = error
                break
            }
        }
        let received = TerminationSignals.received
        signals.release()
        guard var failure = first else { return added }
        if !added.isEmpty {
            failure = CofferError(
                failure.code,
                "\(failure.message) Stored before the failure: \(Plural.of(added.count, "file")).",
                remedy: failure.remedy, systemError: failure.systemError,
                entries: added.map(\.id.description))
        }
        if failure.code == .cancelled, let received {
            Output.message("coffer: \(failure.message)")
            TerminationSignals.end(by: received)
        }
        throw failure
    }

    private func add(
        _ source: FileInputs.Source, _ name: FilePath.Component?, to vault: Vault, _ passcode: Passcode?
    ) async throws(CofferError) -> FileID {
        switch source {
        case .file(let path):
            // A file can be read twice, unlike a pipe.
            return try await VaultOpener.repeatingAfterRotation(vault, global, with: passcode) {
                () async throws(CofferError) in
                try await addFile(path, name, to: vault)
            }
        case .standardInput: return try await addStream(0, name, to: vault)
        case .stream(let path):
            let input = try Descriptor.open(path, [.read, .nonBlocking])
            let id = try await addStream(input.number, name, to: vault)
            try input.close()
            return id
        }
    }

    private func addStream(
        _ descriptor: Int32, _ name: FilePath.Component?, to vault: Vault
    ) async throws(CofferError) -> FileID {
        guard let name else { throw CofferError(.internalFailure, "The input stream has no name.") }
        return try await vault.files.add(
            fromDescriptor: descriptor, name: name, class: protection?.protection,
            outerCipher: outerCipher.suite,
            context: FileArgument.bytes(ofContext: context), isVolatile: isVolatile,
            allowingExternalMedia: allowExternal)
    }

    private func addFile(
        _ path: FilePath, _ name: FilePath.Component?, to vault: Vault
    ) async throws(CofferError) -> FileID {
        var links: UInt64 = 1
        if removeOriginal {
            links = (try? FileStatus.at(path).links) ?? 1
            reportRemains(SourceFile.remains(beside: path))
        }
        let id = try await vault.files.add(
            contentsOf: path, name: name, class: protection?.protection, outerCipher: outerCipher.suite,
            context: FileArgument.bytes(ofContext: context), isVolatile: isVolatile,
            removingOriginal: removeOriginal, allowingExternalMedia: allowExternal,
            progress: ProgressBar("sealing").report)
        if links > 1 {
            Output.message(
                "coffer: Removed \(path.string.printable), but the file has "
                    + "\(Plural.of(Int(links) - 1, "other name")) (hard links), under which its unencrypted "
                    + "content remains.")
        }
        return id
    }

    private func reportRemains(_ remains: [FilePath]) {
        for path in remains {
            Output.message(
                "coffer: An interrupted removal left the unencrypted file \(path.string.printable). If "
                    + "coffer file list shows the file, remove this copy; otherwise, add the file again.")
        }
    }
}
