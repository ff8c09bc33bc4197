import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDBus
import CofferEngine
import CofferService
import Synchronization
import SystemPackage

/// The `coffer serve` command, which is the Secret Service of a message bus.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Be the Secret Service (org.freedesktop.secrets) for git, docker, Python and others.",
        discussion: """
            Programs that use libsecret or the Secret Service store their secrets in the vault's tokens, \
            under the services secret-service/COLLECTION. The command runs until a signal ends it, and \
            ends with 13 if another program is the Secret Service already.

            With -- COMMAND, starts a private message bus with the service on it, runs the command there, \
            and ends both with the command: for containers, cron and CI. The exit code is the command's own.

            While the vault is locked, programs can store secrets, which the next unlock takes over, and \
            find items by attributes, but read none. With --interaction terminal, a program that asks for \
            an unlock waits up to two minutes for coffer unlock in another shell; with never, it is told \
            that the user declined. Locking a collection locks the vault.

            Every program on the bus can read every secret while the vault is unlocked.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Replace a Secret Service that allows it; with --install, replace existing files.")
    var replace = false

    @Flag(help: "Install files that start the service when a program asks for it, and end.")
    var install = false

    @Flag(help: "Show which program is the Secret Service, and end.")
    var status = false

    @Option(help: ArgumentHelp("How programs get the vault unlocked: never or terminal.", valueName: "how"))
    var interaction = Interaction.terminal

    @Argument(parsing: .postTerminator, help: "A command for a private bus and its arguments, after --.")
    var command: [String] = []

    enum Interaction: String, ExpressibleByArgument, CaseIterable {
        case never, terminal

        var value: ServiceHost.Interaction { self == .never ? .never : .terminal }
    }

    func run() async throws {
        guard [install, status, !command.isEmpty].count(where: { $0 }) <= 1 else {
            throw CofferError(.invalidInput, "Specify only one of --install, --status and a command.")
        }
        if status { return try showStatus() }
        if install { return try installFiles() }
        guard BusListener.isBuilt else {
            throw CofferError(.unsupported, "This build does not support D-Bus.")
        }
        try StartRoom.requireThreads(forBus: true)
        guard command.isEmpty else { return try await runCommand() }
        guard let address = MessageBus.sessionAddress else {
            throw CofferError(
                .noSessionBus,
                "There is no session bus. Without one, run coffer serve -- COMMAND, which starts a private "
                    + "bus.")
        }
        try await serve(try await openVault(), at: address) { Output.message("coffer: Serving.") }
    }

    /// Opens the vault, unlocked if that needs no one, or with a passcode from the terminal if there is one.
    private func openVault() async throws(CofferError) -> Vault {
        let vault = try await VaultOpener.unlockedForStoring(global)
        var triggers = LockTriggers()
        triggers.followsCollection = false
        await vault.observeLockTriggers(triggers)
        if !vault.isUnlocked {
            Output.message("coffer: The vault is locked. To unlock it, run coffer unlock.")
        }
        return vault
    }

    private func serve(
        _ vault: Vault, at address: String, onReady: @Sendable () -> Void
    ) async throws(CofferError) {
        try await SecretServiceServer.run(
            vault, address: address, replacing: replace, interaction: interaction.value,
            tell: { Output.message("coffer: \($0)") }, onReady: onReady)
    }

    // MARK: A command on a private bus

    private func runCommand() async throws {
        let vault = try await openVault()
        let bus = try PrivateBus.start()
        let (ready, feed) = AsyncStream<CofferError?>.makeStream()
        let service = Task { () -> CofferError? in
            do throws(CofferError) {
                try await serve(vault, at: bus.address) { feed.yield(nil) }
                return nil
            } catch {
                feed.yield(error)
                return error
            }
        }
        // The first element says that the service is ready, or why not.
        for await failure in ready {
            if let failure { throw failure }
            break
        }
        let code: Result<Int32, CofferError>
        let signals = TerminationSignals.installForProgram(grace: 10)
        do throws(CofferError) {
            code = .success(try await runProgram(at: bus.address))
        } catch {
            code = .failure(error)
        }
        signals.release()
        service.cancel()
        if let failure = await service.value {
            Output.message("coffer: The Secret Service ended before the command: \(failure.advice)")
        }
        withExtendedLifetime(bus) {}
        let result = try CommandNotStarted.marking { try code.get() }
        if global.json { try Output.json(.object([("exitCode", .number(Int(result)))])) }
        guard result == 0 else { throw ExitCode(result) }
    }

    private func runProgram(at address: String) async throws(CofferError) -> Int32 {
        let (words, isJSON) = (command.map { ProgramArguments.bytes($0) }, global.json)
        return try await BlockingExecutor.run { _ throws(CofferError) in
            var secrets = try ChildSecrets.make()
            try secrets.setVariable("DBUS_SESSION_BUS_ADDRESS", to: Array(address.utf8).span)
            return try secrets.run(words, outputToErrors: isJSON)
        }
    }

    // MARK: Without a vault

    private func installFiles() throws {
        let program = String(decoding: try CurrentExecutable.path(ofSibling: "coffer"), as: UTF8.self)
        let home = try global.homePath()
        let path = Environment.workingDirectory?.pushing(home) ?? home
        var words = [program, "serve", "--home", path.string, "--interaction", interaction.rawValue]
        if let user = global.user { words += ["--user", user] }
        let paths = try ServeInstallation(command: words).install(replacing: replace)
        if global.json {
            try Output.json(.object([("files", .list(paths.map { .text($0.string) }))]))
        } else {
            for path in paths { try Output.line(path.string) }
            Output.message("coffer: To begin now, run systemctl --user enable --now coffer-serve.")
        }
    }

    private func showStatus() throws {
        guard let address = MessageBus.sessionAddress else {
            throw CofferError(.noSessionBus, "There is no session bus.")
        }
        let deadline = Duration.seconds(5)
        let bus = try MessageBus.connect(address, deadline: deadline)
        let name = BusValue.text(ServiceName.bus)
        guard try bus.callBus("NameHasOwner", [name], deadline: deadline)?.flag == true else {
            throw CofferError(.noSecretService, "No program is the Secret Service on this bus.")
        }
        let process = try bus.callBus("GetConnectionUnixProcessID", [name], deadline: deadline)?.number ?? 0
        let program = ProcFile.read(FilePath("/proc/\(process)/comm")) ?? ""
        let shown = program.utf8.split(separator: UInt8(ascii: "\n")).first.map { Array($0) } ?? []
        let text = String(decoding: shown, as: UTF8.self).printable
        if global.json {
            try Output.json(.object([("process", .number(Int(process))), ("program", .text(text))]))
        } else {
            try Output.line("\(text), process \(process)")
        }
    }
}
