import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer watch` command, which removes cached keys when the desktop locks.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Lock with the desktop: remove the keys that `unlock` cached when the screen locks.",
        discussion: """
            Listens to logind, the screen saver and the Secret Service until a signal ends it, and prints a \
            line for each lock. Needs no passcode. Reports on standard error which of these are missing.

            With --mailbox, also executes signed orders that arrive in that directory as files named \
            NAME.order; by default, the command checks once a minute. An order that is not yet valid is \
            executed as soon as it becomes valid; an order that could not be processed is tried again. The \
            dead-man's switch is checked equally often. Ends with 6 when the vault has been wiped.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp("The directory for signed orders.", valueName: "dir"), completion: .directory)
    var mailbox: String?

    @Option(help: ArgumentHelp("How often to look for orders: 1 to 3600.", valueName: "seconds"))
    var every = 60

    func run() async throws {
        try StartRoom.requireThreads()
        guard (1...3600).contains(every) else {
            throw CofferError(.invalidInput, "--every takes 1 to 3600 seconds.")
        }
        let mailbox = try mailbox.map { text throws(CofferError) in try FilePathArgument.path(text) }
        let vault = try await VaultOpener.vault(global)
        let events = vault.events
        let statuses = await vault.observeLockTriggers()
        for status in statuses where !status.isListening {
            Output.message("coffer: Lock source \(status.source.rawValue): \(status.message)")
        }
        let desktop = statuses.filter { ![.idleTimer, .kernelKeyring].contains($0.source) }
        let hasSwitch = try await hasSwitch(vault)
        guard mailbox != nil || hasSwitch || desktop.contains(where: \.isListening) else {
            throw CofferError(
                .unsupported,
                "This host has no lock source, so the vault cannot be locked with the desktop. Lock the "
                    + "vault yourself with coffer lock.")
        }
        Output.message("coffer: Listening.")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await follow(vault, mailbox) }
            group.addTask { try await show(events) }
            try await group.next()
        }
    }

    /// Reports whether the dead-man's switch is on. If the switch's record cannot be read, prints a message
    /// and returns `false`.
    private func hasSwitch(_ vault: Vault) async throws(CofferError) -> Bool {
        do throws(CofferError) {
            return try await vault.deadManSwitch() != nil
        } catch {
            guard error.code != .wiped else { throw error }
            Output.message("coffer: Orders: \(error.code.name): \(error.advice)")
            return false
        }
    }

    /// Follows the lock triggers and the remote commands. Returns only by throwing an error.
    private func follow(_ vault: Vault, _ mailbox: FilePath?) async throws(CofferError) {
        let pause = Duration.seconds(every)
        let none = PollingRevocationSource { () throws(CofferError) in [] }
        guard let mailbox else { return try await vault.followRevocations(from: none, every: pause) }
        let source = DirectoryRevocationSource(mailbox)
        try await vault.followRevocations(from: source, every: pause) { result in
            switch result {
            case .failure(let error), .success(.refused(let error)):
                Output.message("coffer: Mailbox: \(error.code.name): \(error.advice)")
            default: break
            }
        }
    }

    private func show(_ events: AsyncStream<VaultEvent>) async throws {
        for await event in events where event.kind != .unlocked {
            let reason = event.reason?.rawValue
            if global.json {
                try Output.json(
                    .object([
                        ("event", .text(event.kind.rawValue)), ("reason", reason.map { .text($0) } ?? .none),
                    ]))
            } else {
                try Output.line(event.kind.rawValue + (reason.map { " \($0)" } ?? ""))
            }
        }
    }
}
