import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer remote-wipe trust-key` command, which makes the vault accept orders signed with a key.
struct RemoteWipeTrustKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust-key",
        abstract: "Accept orders and policies signed with this public key from now on.",
        discussion: """
            The holder of the private key can then erase the vault, set rules for it (coffer policy take), \
            and make it trust other keys. Requires an unlocked vault or the passcode. If the vault obeys a \
            signed policy (coffer policy show), which that holder could replace, it requires the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The public key in hexadecimal.")
    var key: String

    @Option(help: ArgumentHelp("A label for the key.", valueName: "text"))
    var label = ""

    func run() async throws {
        let key = try AdministratorKey(hex: key)
        guard ProgramArguments.isText(label) else {
            throw CofferError(.invalidInput, "The label must be UTF-8.")
        }
        let vault = try await VaultOpener.vault(global)
        if try await vault.signedPolicy() != nil {
            try await OwnerPasscode.evaluate(global, of: vault) { (passcode) throws(CofferError) in
                try await vault.pinAdministratorKey(key, label: label, passcode: passcode)
            }
        } else {
            try await VaultOpener.withPasscode(global) { (vault) throws(CofferError) in
                try await vault.pinAdministratorKey(key, label: label)
            }
        }
        if global.json { try Output.json(.object([("pinned", .text(key.description))])) }
    }
}

/// The `coffer remote-wipe keys` command, which lists the keys whose orders the vault accepts.
struct RemoteWipeKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "List the keys whose orders this vault accepts, and the ids of the vault and the device.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        let keys = try await vault.administratorKeys()
        let device = try DeviceID.current()
        guard !global.json else {
            let list = keys.map { key in
                JSONDocument.object([
                    ("key", .text(key.key.description)), ("pinned", .text(key.pinned.iso8601)),
                    ("label", .text(key.label)),
                ])
            }
            return try Output.json(
                .object([
                    ("vault", .text(vault.vaultID.description)),
                    ("device", device.map { .text($0.description) } ?? .none), ("keys", .list(list)),
                ]))
        }
        try Output.line("vault: \(vault.vaultID)")
        if let device { try Output.line("device: \(device)") }
        for key in keys {
            try Output.line("key: \(key.key) \(key.pinned.iso8601) \(key.label.printable)")
        }
    }
}

/// The `coffer remote-wipe distrust-key` command, which makes the vault stop accepting orders signed with a
/// key.
struct RemoteWipeDistrustKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distrust-key",
        abstract: "Stop accepting orders signed with this public key.",
        discussion: """
            Requires an unlocked vault or the passcode. If the vault obeys a policy that is signed with this \
            key (coffer policy show), it requires the passcode, and the policy ends at the next unlock.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The public key in hexadecimal.")
    var key: String

    func run() async throws {
        let key = try AdministratorKey(hex: key)
        let vault = try await VaultOpener.vault(global)
        if try await vault.signedPolicy()?.claimedSigner == key {
            try await OwnerPasscode.evaluate(global, of: vault) { (passcode) throws(CofferError) in
                try await vault.removeAdministratorKey(key, passcode: passcode)
            }
        } else {
            try await VaultOpener.withPasscode(global) { (vault) throws(CofferError) in
                try await vault.removeAdministratorKey(key)
            }
        }
        if global.json { try Output.json(.object([("removed", .text(key.description))])) }
    }
}

/// The passcode for changes of the trusted keys on which the signed policy in force depends.
private enum OwnerPasscode {
    /// Reads the passcode, even if the vault is unlocked, and makes a change that evaluates it.
    static func evaluate(
        _ global: GlobalOptions, of vault: Vault, _ change: (Passcode?) async throws(CofferError) -> Void
    ) async throws(CofferError) {
        var passcode: Passcode?
        if try await vault.status().hasPasscode {
            passcode = try await VaultOpener.currentPasscode(global, of: vault)
            guard passcode != nil else { throw missing }
        }
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in try await change(passcode) }
    }

    private static let missing = CofferError(
        .locked,
        "This vault obeys a signed policy, which depends on this key, so the passcode is necessary even if "
            + "the vault is unlocked. Specify it with --passcode-fd.")
}
