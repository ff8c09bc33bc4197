import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer file view` command, which runs another command on a temporary decrypted copy of a file.
struct FileView: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "view",
        abstract: "Run a command on a temporary decrypted copy, which is removed when the command ends.",
        discussion: """
            The copy is kept in memory under the original name, read-only and accessible to this user \
            alone. In the command, {} stands for the copy's path, even inside an argument, as in --file={}; \
            without {}, the path is appended. A name with special characters is refused inside an argument \
            and as the code of a shell: pass {} as an argument of its own, as in sh -c 'cat "$1"' sh {}. \
            The exit code is the command's own, 9 if --timeout ended it, 127 if there is no such command, \
            or 126 if it cannot be executed. A signal that would end this program is passed on to the \
            command, and the copy is removed as usual. With --json, the command's standard output goes to \
            standard error, and the JSON document contains its exitCode. The copy is also removed if the \
            screen locks or the machine sleeps. If this program is killed, the copy stays until the command \
            that it runs has ended too; coffer file prune-views then removes the copy.

            With --writable, if the command ends with 0, its changes are sealed as the file's new content, \
            completely or not at all. This also works for editors that save by writing a new file with the \
            same name. If the file changed in the vault in the meantime, the new content is stored as a \
            separate file. Without --writable, or if the command fails or --timeout ends it, changes are \
            discarded with a message.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Flag(help: "Seal the command's changes as the file's new content.")
    var writable = false

    @Flag(help: "Create no file: pass an inherited in-memory descriptor as the path /proc/self/fd/N.")
    var descriptor = false

    @Flag(
        name: .customLong("private"),
        help: "Show the copy to the command alone, in a private mount namespace.")
    var isPrivate = false

    @Flag(help: "Also wait for processes that the command leaves running, such as background viewers.")
    var wait = false

    @Option(help: ArgumentHelp("Remove the copy and end the command after this time.", valueName: "SECONDS"))
    var timeout: Double?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String]

    func run() async throws {
        let reference = try file.reference()
        try StartRoom.requireThreads()
        try checkOptions()
        let vault = try await VaultOpener.unlocked(global)
        let id = try await reference.id(in: vault)
        if FileStore.isSwapActive {
            Output.message("coffer: Swap is active, so the in-memory copy may be written to disk.")
        }
        await vault.observeLockTriggers()
        let signals = TerminationSignals.install()
        let result = await Task(executorPreference: MainExecutor.current) { try await view(id, vault) }.result
        signals.release()
        let (code, outcome) = try CommandNotStarted.marking { try result.get() }
        if outcome == .dropped {
            Output.message("coffer: The command changed the copy, but the changes were discarded.")
        }
        if global.json {
            try Output.json(
                .object([("exitCode", .number(Int(code))), ("change", .text(outcome.rawValue))]))
        }
        guard code == 0 else { throw ExitCode(code) }
    }

    /// The outcome for the changes that were made to the copy.
    private enum Outcome: String { case none, saved, dropped }

    private func checkOptions() throws(CofferError) {
        guard !command.isEmpty else { throw CofferError(.invalidInput, "Specify a command after --.") }
        guard [writable, descriptor, isPrivate].count(where: { $0 }) <= 1 else {
            throw CofferError(.invalidInput, "Specify only one of --writable, --descriptor and --private.")
        }
        guard !wait || !descriptor && !isPrivate else {
            throw CofferError(.invalidInput, "--wait cannot be combined with --descriptor or --private.")
        }
        if let timeout, !(timeout > 0 && timeout <= 1e9) {
            throw CofferError(
                .invalidInput, "--timeout takes a number of seconds, greater than 0 and at most 1e9.")
        }
        if isPrivate, try !MountNamespace.isPossible() {
            throw CofferError(
                .unsupported,
                "The file cannot be viewed with --private, because this user may not create mount "
                    + "namespaces. Omit --private, or use --descriptor.")
        }
    }

    private var limit: Duration? { timeout.map { .seconds($0) } }

    private var options: ViewOptions {
        var options = ViewOptions()
        options.limit = limit
        return options
    }

    private func view(_ id: FileID, _ vault: Vault) async throws -> (Int32, Outcome) {
        let (files, context) = (vault.files, file.boundBytes)
        if descriptor || isPrivate { return (try await viewInMemory(id, vault), .none) }
        guard writable else {
            return try await files.withViewCopy(of: id, context: context, options: options) { copy in
                let code = try runViewer(copy)
                return (code, copy.isChanged ? .dropped : .none)
            }
        }
        do {
            let edited = try await files.withEditableCopy(of: id, context: context, options: options) {
                copy in
                let code = try runViewer(copy)
                guard code == 0 else { throw Failed(code: code, isChanged: copy.isChanged) }
                return code
            }
            return (edited.result, edited.outcome == .saved ? .saved : .none)
        } catch let failed as Failed {
            return (failed.code, failed.isChanged ? .dropped : .none)
        }
    }

    /// The error that is thrown if a command that may change the copy fails.
    private struct Failed: Error {
        let code: Int32
        let isChanged: Bool
    }

    /// Runs the command on a view copy that is stored in a file, and returns the command's exit code.
    private func runViewer(_ copy: ViewCopy) throws(CofferError) -> Int32 {
        let code: Int32
        do throws(CofferError) {
            code = try runCommand(
                PathPlaceholder.expand(command, path: FileNameBytes.of(copy.path)), inheriting: [copy.lease])
        } catch {
            guard error.code == .timedOut, copy.isChanged else { throw error }
            throw CofferError(
                .timedOut, "The command was stopped at its time limit, and its changes were discarded.")
        }
        if wait {
            while TerminationSignals.received == nil, try copy.isKeptByOthers() {
                Clock.sleep(for: .milliseconds(50))
            }
        }
        return code
    }

    /// Runs the command on an in-memory copy that has no name in the file systems that this process can see.
    /// Returns the command's exit code.
    private func viewInMemory(_ id: FileID, _ vault: Vault) async throws -> Int32 {
        let info = try await vault.files.info(for: id, context: file.boundBytes)
        return try await vault.files.withMemoryCopy(
            of: id, context: file.boundBytes, options: options
        ) { copy in
            guard isPrivate else {
                return try runCommand(
                    PathPlaceholder.expand(command, path: FileNameBytes.of(copy.path)),
                    inheriting: [copy.descriptor])
            }
            return try await vault.files.withPrivateMountPoint(for: info.protection) { directory in
                let path = directory.appending(info.name)
                return try runCommand(
                    MountNamespace.command(
                        descriptor: copy.descriptor, path: path,
                        PathPlaceholder.expand(command, path: FileNameBytes.of(path))),
                    inheriting: [copy.descriptor])
            }
        }
    }

    private func runCommand(_ arguments: [[UInt8]], inheriting: [Int32]) throws(CofferError) -> Int32 {
        // A signal may have arrived while a long file was copied.
        if let number = TerminationSignals.received { return 128 + number }
        return try ChildProcess.run(
            arguments, outputToErrors: global.json, inheriting: inheriting, limit: limit)
    }
}

/// The `coffer file prune-views` command, which removes the view copies that ended processes left behind.
struct FilePruneViews: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune-views",
        abstract: "Remove view copies that ended processes left behind; print how many.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let location = try VaultOpener.location(global)
        let count = try await Vault.removeStaleViewCopies(at: location)
        if global.json {
            try Output.json(.object([("pruned", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }
}
