import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer remote-wipe heartbeat` command, which sets the dead-man's switch.
struct RemoteWipeHeartbeat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heartbeat",
        abstract: "Set the dead-man's switch: wipe or lock when no heartbeat arrives. Off by default.",
        discussion: """
            A heartbeat is an order with the action heartbeat. Days count the time that the machine runs or \
            sleeps, across boots. Every command that opens the vault checks the switch, and so does `coffer \
            watch`. Setting the switch requires an unlocked vault or the passcode, and restarts the count. \
            Without options, the command prints the current state.
            """)

    enum Action: String, CaseIterable, ExpressibleByArgument { case lock, wipe, off }

    @OptionGroup var global: GlobalOptions

    @Option(help: "The action when the time is up: lock or wipe; off disables the switch.")
    var action: Action?

    @Option(help: ArgumentHelp("The longest time without a heartbeat: 1 to 3650.", valueName: "days"))
    var afterDays: Int?

    func run() async throws {
        guard let action else {
            guard afterDays == nil else {
                throw CofferError(.invalidInput, "--after-days requires --action.")
            }
            return try await show(VaultOpener.vault(global))
        }
        let policy = try policy(action)
        let vault = try await VaultOpener.withPasscode(global) { (vault) throws(CofferError) in
            try await vault.setDeadManSwitch(policy)
            return vault
        }
        try await show(vault)
    }

    private func policy(_ action: Action) throws(CofferError) -> DeadManSwitch? {
        guard action != .off else {
            guard afterDays == nil else {
                throw CofferError(.invalidInput, "--after-days cannot be used with --action off.")
            }
            return nil
        }
        guard let afterDays, (1...3650).contains(afterDays) else {
            throw CofferError(
                .invalidInput, "--action \(action) requires --after-days with a value from 1 to 3650.")
        }
        return try DeadManSwitch(action == .wipe ? .wipe : .lock, after: .seconds(afterDays * 86_400))
    }

    private func show(_ vault: Vault) async throws {
        let policy = try await vault.deadManSwitch()
        let passed = try await vault.timeSinceHeartbeat().map { Int($0.components.seconds) }
        guard !global.json else {
            let days = policy.map { JSONDocument.number(Int($0.limit.components.seconds) / 86_400) }
            return try Output.json(
                .object([
                    ("action", .text(policy?.action.rawValue ?? "off")), ("afterDays", days ?? .none),
                    ("secondsSinceHeartbeat", passed.map { .number($0) } ?? .none),
                ]))
        }
        guard let policy, let passed else { return try Output.line("off") }
        let days = policy.limit.components.seconds / 86_400
        try Output.line(
            "\(policy.action.rawValue) after \(days) days; \(passed / 3600) hours since the last heartbeat")
    }
}
