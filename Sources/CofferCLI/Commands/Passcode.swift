import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer passcode` command, which groups the subcommands that set, change and remove the passcode.
struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode", abstract: "Set, change or remove the passcode.",
        discussion: "Only the class keys are wrapped again; tokens and files do not change.",
        subcommands: [Set.self, Change.self, Remove.self])

    /// The `coffer passcode set` command, which sets a passcode on a vault without one.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set a passcode on a vault without one.")

        @OptionGroup var global: GlobalOptions
        @OptionGroup var new: NewPasscodeOptions

        func run() async throws {
            let vault = try await VaultOpener.vault(global)
            guard try await !vault.status().hasPasscode else {
                throw CofferError(
                    .alreadyExists, "A passcode is already set. To replace it, use coffer passcode change.")
            }
            let settings = try await vault.settings()
            try await vault.changePasscode(
                to: VaultOpener.newPasscode(onDescriptor: new.newPasscodeFd, policy: settings.policy),
                current: nil)
            vault.lock()
            let notice = VaultOpener.erasureNotice(
                erases: settings.erasesAfterTenFailures, delays: settings.delaysAttempts)
            Output.message(
                "coffer: \(notice)" + (settings.erasesAfterTenFailures ? " " + CopyAdvice.copies : ""))
            try global.confirm(hasPasscode: true)
        }
    }

    /// The `coffer passcode change` command, which replaces the passcode.
    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change", abstract: "Replace the passcode.",
            discussion: """
                An older copy of the vault still opens with the old passcode, and its keys open what is \
                written later. With --rotate, the keys are replaced in the same step, so they do not: see \
                coffer rotate.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var new: NewPasscodeOptions

        @Flag(help: "Also replace the vault's keys.")
        var rotate = false

        func run() async throws {
            let vault = try await PasscodeCommand.withPasscode(global)
            let current = try await VaultOpener.currentPasscode(global, of: vault)
            let policy = try await vault.passcodePolicy()
            let replacement = try VaultOpener.newPasscode(onDescriptor: new.newPasscodeFd, policy: policy)
            guard !rotate else {
                let report = try await KeyRotation.rotate(vault, nil, current, to: replacement)
                return try KeyRotation.show(report, asJSON: global.json)
            }
            try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                try await vault.changePasscode(to: replacement, current: current)
            }
            try global.confirm(hasPasscode: true)
        }
    }

    /// The `coffer passcode remove` command, which removes the passcode.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove the passcode. Anyone who can read the vault directory can then open the vault.",
            discussion: "Destroys every item in the class whenPasscodeSetThisDeviceOnly; prints how many.",
            aliases: ["rm"])

        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let vault = try await PasscodeCommand.withPasscode(global)
            let current = try await VaultOpener.currentPasscode(global, of: vault)
            let dependent = try await vault.passcodeDependentItems()
            if dependent.count > 0 {
                Output.message(
                    "coffer: Removing the passcode destroys \(Plural.of(dependent.tokens, "token")), "
                        + "\(Plural.of(dependent.files, "file")), "
                        + "\(Plural.of(dependent.databases, "database")) and "
                        + "\(Plural.of(dependent.keyPairs, "key pair")) "
                        + "in the class whenPasscodeSetThisDeviceOnly.")
            }
            var destroyed: PasscodeDependentItems?
            try await VaultOpener.waitingForDelay { () async throws(CofferError) in
                destroyed = try await vault.changePasscode(to: nil, current: current)
            }
            guard global.json else { return }
            try Output.json(
                .object([
                    ("passcode", .flag(false)), ("destroyedTokens", .number(destroyed?.tokens ?? 0)),
                    ("destroyedFiles", .number(destroyed?.files ?? 0)),
                    ("destroyedDatabases", .number(destroyed?.databases ?? 0)),
                    ("destroyedKeyPairs", .number(destroyed?.keyPairs ?? 0)),
                ]))
        }
    }

    private static func withPasscode(_ global: GlobalOptions) async throws -> Vault {
        let vault = try await VaultOpener.vault(global)
        guard try await vault.status().hasPasscode else {
            throw CofferError(.absent, "No passcode is set. Set one with coffer passcode set.")
        }
        return vault
    }
}

extension GlobalOptions {
    /// Prints the final JSON document of a passcode command if `--json` was specified.
    fileprivate func confirm(hasPasscode: Bool) throws(CofferError) {
        if json { try Output.json(.object([("passcode", .flag(hasPasscode))])) }
    }
}

/// The options for a new passcode.
struct NewPasscodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read the new passcode from the first line of this descriptor.", valueName: "n"))
    var newPasscodeFd: Int32?
}
