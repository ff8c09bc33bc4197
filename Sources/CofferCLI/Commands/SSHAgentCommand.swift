import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer ssh-agent` command, which serves the vault's key pairs to SSH and git.
struct SSHAgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh-agent",
        abstract: "Serve the vault's key pairs to ssh, git and other programs as an SSH agent.",
        discussion: """
            Without a command, the agent runs in the foreground until a signal ends it, and prints the line \
            that sets SSH_AUTH_SOCK; systemd can pass it a listening socket: see coffer ssh config. After \
            --, it serves that command and ends with it and with its exit code.

            While the vault is locked, keys are listed, and signatures fail at once; the agent prints the \
            reason, because the protocol cannot carry it. Unlock with coffer unlock. A key with --confirm \
            asks with the program in SSH_ASKPASS.

            Keys that ssh-add adds are kept in memory only, until ssh-add -d or -D, the time of -t, or the \
            end of the agent; locking the vault does not remove them. The agent removes no key from the \
            vault, makes no signatures with SHA-1, and refuses programs of other users.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp("The socket; default $XDG_RUNTIME_DIR/coffer/ssh.sock.", valueName: "path"),
        completion: .file())
    var socket: String?

    @Argument(parsing: .postTerminator, help: "A command and its arguments, after --.")
    var command: [String] = []

    func run() async throws {
        try StartRoom.requireThreads()
        // A wrong place is an error now, and not at the first request. A locked vault is none.
        _ = try await VaultOpener.vault(global, isSilent: true)
        let path = try socketPath()
        let listening = try path.map { (path) throws(CofferError) in try LocalSocket.listening(at: path) }
        let socket = if let listening { listening } else { try LocalSocket.adopting(Self.passedDescriptor) }
        let agent = makeAgent()
        let server = SSHAgentServer(socket: socket) { await agent.answer($0, in: $1) }
        if command.isEmpty {
            try await serve(server, agent, at: path)
        } else {
            try await serveCommand(server, agent, at: path ?? SSHSocketPlace.usual())
        }
    }

    private func makeAgent() -> SSHAgent {
        let global = global
        return SSHAgent(
            openVault: { (isUnlocking) async throws(CofferError) -> Vault in
                let vault = try await VaultOpener.vault(global, isSilent: true)
                guard isUnlocking, try await !vault.restoreCachedKeys() else { return vault }
                do throws(CofferError) {
                    try await vault.unlock()
                } catch {
                    // Keys of the classes that outlast a lock may be there.
                    guard error.code == .locked, vault.hasKeys else { throw Self.explained(error) }
                }
                return vault
            }, confirm: AskPass.isConfirmed, report: { Output.message("coffer: \($0.advice)") })
    }

    private static func explained(_ error: CofferError) -> CofferError {
        guard error.code == .locked else { return error }
        return CofferError(
            .locked, "The SSH agent refused to sign because the vault is locked.", remedy: .unlockVault)
    }

    // MARK: Sockets

    /// The first descriptor that a service manager passes (sd_listen_fds).
    private static let passedDescriptor: Int32 = 3

    /// Returns the path at which to listen; `nil` if a service manager passed a listening socket.
    private func socketPath() throws(CofferError) -> FilePath? {
        if let socket { return try FilePathArgument.path(socket) }
        if command.isEmpty, let count = Environment.value("LISTEN_FDS"),
            let owner = Environment.value("LISTEN_PID"),
            owner.hasSameBytes(as: String(Environment.processID))
        {
            guard count.hasSameBytes(as: "1") else {
                throw CofferError(.invalidInput, "The service manager must pass exactly one socket.")
            }
            return nil
        }
        guard !command.isEmpty else { return try SSHSocketPlace.prepared() }
        // Beside an agent that serves the whole session.
        return try SSHSocketPlace.prepared(FilePath("ssh-\(Environment.processID).sock"))
    }

    // MARK: Serving

    private func serve(_ server: SSHAgentServer, _ agent: SSHAgent, at path: FilePath?) async throws {
        let signals = TerminationSignals.install()
        if let path {
            // A shell reads this line.
            let quoted =
                "'" + path.string.parts(between: "'", keepsEmpty: true).joined(separator: "'\\''") + "'"
            try Output.line("SSH_AUTH_SOCK=\(quoted); export SSH_AUTH_SOCK;")
        }
        let result: Result<Void, CofferError>
        do throws(CofferError) {
            result = .success(try await server.run(endingWithSignals: true) { agent.removeExpired() })
        } catch {
            result = .failure(error)
        }
        agent.removeAdded()
        signals.release()
        try result.get()
    }

    private func serveCommand(_ server: SSHAgentServer, _ agent: SSHAgent, at path: FilePath) async throws {
        let signals = TerminationSignals.installForProgram(grace: 10)
        let serving = Task(executorPreference: MainExecutor.current) { () async -> CofferError? in
            do throws(CofferError) {
                try await server.run(endingWithSignals: false) { agent.removeExpired() }
                return nil
            } catch {
                return error
            }
        }
        let words = command.map { ProgramArguments.bytes($0) }
        let asJSON = global.json
        let result: Result<Int32, CofferError>
        do throws(CofferError) {
            result = .success(
                try await BlockingExecutor.run { _ throws(CofferError) in
                    var variables = try ChildSecrets.make()
                    try variables.setVariable("SSH_AUTH_SOCK", to: FileNameBytes.of(path).span)
                    return try variables.run(words, outputToErrors: asJSON)
                })
        } catch {
            result = .failure(error)
        }
        server.stop()
        let failure = await serving.value
        agent.removeAdded()
        signals.release()
        let code = try CommandNotStarted.marking { try result.get() }
        if let failure { throw failure }
        if global.json { try Output.json(.object([("exitCode", .number(Int(code)))])) }
        guard code == 0 else { throw ExitCode(code) }
    }
}
