import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import Synchronization
import SystemPackage

/// The `coffer ssh import` command, which moves a private key of OpenSSH's into the vault.
struct SSHImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store the private key in a file of OpenSSH's; print its public key.",
        discussion: """
            Runs ssh-add, which asks for the file's passphrase, with an agent of its own that receives the \
            key. The key is stored, read back and tried by a signature. The file stays, unless \
            --remove-original is specified: it is then overwritten and removed. Overwriting does not reach \
            copies, backups, snapshots, and old blocks of flash storage.

            The key may be an Ed25519, P-256, P-384 or RSA key (2048 to 4096 bits). Afterwards, nothing \
            exports it from the vault, unless --exportable was specified.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file with the private key.", completion: .file())
    var file: String

    @Option(help: "The key pair's alias; default: the file's name.")
    var alias: String?

    @OptionGroup var options: KeyPairProtection

    @Flag(help: "Overwrite and remove the file when its key is in the vault.")
    var removeOriginal = false

    func run() async throws {
        try StartRoom.requireThreads()
        let path = try FilePathArgument.path(file)
        guard try FilePathArgument.status(of: path).kind == .regular, let name = path.lastComponent else {
            throw CofferError(
                .refused, "\(path) is not a regular file. Specify the file with the private key.")
        }
        guard try !removeOriginal || Self.isFile(path) else {
            throw CofferError(
                .refused,
                "\(path) is a symbolic link, so --remove-original would not remove the private key. Specify "
                    + "the file to which it leads.")
        }
        let alias = try KeyPairAlias.checked(alias ?? name.string)
        let vault = try await VaultOpener.unlocked(global)
        guard try await vault.keyPairs.keyPair(alias) == nil else {
            throw CofferError(
                .alreadyExists,
                "There is already a key pair with the alias \(alias.printable). Specify another one with "
                    + "--alias.")
        }
        let added = try await receive(path)
        let pair = try await vault.keyPairs.importing(
            added.held, alias: alias, class: options.chosenClass, uses: [.ssh],
            confirmsEachUse: options.confirm, isExportable: options.exportable)
        if removeOriginal {
            do throws(CofferError) {
                try remove(path)
            } catch {
                Output.message("coffer: The key is in the vault, but its file was not removed.")
                throw error
            }
        }
        if global.json {
            try Output.json(pair.document())
        } else {
            try Output.line(SSHPublicKey.line(pair.publicKey, comment: pair.alias))
        }
    }

    /// Returns the key that ssh-add sends. A signal, such as an interrupt at the question for the passphrase,
    /// ends this process only after the agent's directory was removed.
    private func receive(_ path: FilePath) async throws -> SSHAddedKey {
        let signals = TerminationSignals.install()
        let result: Result<SSHAddedKey, any Error>
        do {
            result = .success(try await receiveFromAgent(path))
        } catch {
            result = .failure(error)
        }
        let received = TerminationSignals.received
        signals.release()
        if let received { TerminationSignals.end(by: received) }
        return try result.get()
    }

    private func receiveFromAgent(_ path: FilePath) async throws -> SSHAddedKey {
        let base = Environment.path("XDG_RUNTIME_DIR") ?? "/tmp"
        let parent = try Descriptor.open(base, [.read, .directory])
        let name = try Descriptor.temporaryName()
        try parent.makeDirectory(name)
        defer { try? parent.removeTree(name) }
        let place = base.pushing(name).pushing("agent")
        let received = ReceivedKey()
        let server = SSHAgentServer(socket: try LocalSocket.listening(at: place)) { request, _ in
            received.answer(request)
        }
        let serving = Task { _ = try? await server.run(endingWithSignals: false) {} }
        let code: Int32
        do throws(CofferError) {
            code = try await BlockingExecutor.run { _ throws(CofferError) in
                var variables = try ChildSecrets.make()
                try variables.setVariable("SSH_AUTH_SOCK", to: FileNameBytes.of(place).span)
                let words = ["ssh-add", "-q", "--"].map { Array($0.utf8) } + [FileNameBytes.of(path)]
                return try variables.run(words, outputToErrors: true)
            }
        } catch {
            server.stop()
            await serving.value
            guard ChildProcess.exitCode(ofFailedStart: error) != nil else { throw error }
            throw CofferError(.unsupported, "ssh-add is not installed. Install openssh-client.")
        }
        server.stop()
        await serving.value
        guard let key = received.key else {
            throw CofferError(
                code == 0 ? .unsupported : .refused,
                "ssh-add did not pass on a key that can be stored: an Ed25519, P-256, P-384 or RSA key of "
                    + "2048 to 4096 bits. Nothing was stored.")
        }
        return key
    }

    /// Returns whether the entry itself is a regular file, and not a link to one.
    private static func isFile(_ path: FilePath) throws(CofferError) -> Bool {
        guard let last = path.lastComponent else { return false }
        return try parent(of: path).status(of: FilePath(root: nil, [last]))?.kind == .regular
    }

    private static func parent(of path: FilePath) throws(CofferError) -> Descriptor {
        let parent = path.removingLastComponent()
        return try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
    }

    private func remove(_ path: FilePath) throws(CofferError) {
        guard let last = path.lastComponent else { return }
        let directory = try Self.parent(of: path)
        let name = FilePath(root: nil, [last])
        try directory.overwrite(name)
        try directory.remove(name)
        try directory.sync()
    }
}

/// The first private key that a client adds to an agent that does nothing else.
private final class ReceivedKey: Sendable {
    private let held = Mutex<SSHAddedKey?>(nil)

    var key: SSHAddedKey? { held.withLock { $0 } }

    /// Returns the answer: success for the first key, failure for everything else.
    func answer(_ request: SSHAgentRequest) -> [UInt8] {
        guard case .add(let key) = request else { return [5] }
        return held.withLock { held in
            guard held == nil else { return [5] }
            held = key
            return [6]
        }
    }
}
