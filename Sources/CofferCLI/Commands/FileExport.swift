import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer file export` command, which writes a file's decrypted content to a new file or to standard
/// output.
struct FileExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the decrypted content to a new file, or to standard output.",
        discussion: """
            The destination is the new file's path, a directory, in which the new file gets the stored name, \
            or - for standard output. The file appears complete or not at all, and only this user can read \
            it. An existing file is replaced only with --replace. Nothing is written inside the vault's own \
            directory.

            A signal that asks the command to end removes the unfinished file. If the command is killed \
            without warning while it replaces a file, or on a file system without unnamed files, the content \
            can remain beside the destination, unencrypted, in a file whose name begins with .tmp-.

            On standard output, every chunk is authenticated before it is written. If the command fails \
            midway, discard its output. On a terminal, the command prints only text: bytes that the \
            terminal could interpret as control characters are refused, with exit code 11, unless --force \
            is specified.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Argument(help: "The new file, a directory for it, or - for standard output.", completion: .file())
    var destination: String

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Flag(help: "Write to a terminal even bytes that it could interpret as control characters.")
    var force = false

    func run() async throws {
        let reference = try file.reference()
        let isOutput = destination.hasSameBytes(as: "-")
        if isOutput { try checkOutput() }
        let given = isOutput ? nil : try FilePathArgument.path(destination)
        let vault = try await VaultOpener.unlocked(global)
        let id = try await reference.id(in: vault)
        guard let path = given else {
            let output = try ContentOutput(forcing: force)
            try await vault.files.readChunks(of: id, context: file.boundBytes) {
                (bytes) throws(CofferError) in
                try output.write(bytes)
            }
            return try output.finish()
        }
        let target = try await target(path, id, vault)
        try await export(id, to: target, vault)
        if global.json {
            try Output.json(.object([("id", .text(id.description)), ("path", .text(target.string))]))
        }
    }

    private func checkOutput() throws(CofferError) {
        guard !global.json else {
            throw CofferError(
                .invalidInput,
                "With the destination -, standard output contains only the file's content. Omit --json, "
                    + "or write ./- for a file named -.")
        }
    }

    /// Returns the path of the new file.
    private func target(
        _ path: FilePath, _ id: FileID, _ vault: Vault
    ) async throws(CofferError) -> FilePath {
        guard (try? FileStatus.at(path).kind) == .directory else {
            guard !destination.utf8.hasSuffix("/") else {
                throw CofferError(
                    .absent, "The directory \(path) does not exist. Create it first, or choose another path.")
            }
            return path
        }
        let info = try await vault.files.info(for: id, context: file.boundBytes)
        return path.appending(info.name)
    }

    /// Writes the new file. On a termination signal, removes the unfinished file before the process ends.
    private func export(_ id: FileID, to path: FilePath, _ vault: Vault) async throws(CofferError) {
        let signals = TerminationSignals.install(cancellingWork: true)
        var found: CofferError?
        do throws(CofferError) {
            try await vault.files.export(
                id, to: path, replacing: replace, context: file.boundBytes,
                progress: ProgressBar("exporting").report)
        } catch {
            found = error
        }
        let received = TerminationSignals.received
        signals.release()
        guard let failure = found else { return }
        if failure.code == .cancelled, let received {
            Output.message("coffer: \(failure.message)")
            TerminationSignals.end(by: received)
        }
        guard failure.code == .alreadyExists else { throw failure }
        throw CofferError(
            .alreadyExists, failure.message + " To replace the file, specify --replace.",
            systemError: failure.systemError)
    }
}
