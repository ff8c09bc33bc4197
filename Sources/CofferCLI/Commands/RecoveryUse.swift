import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer recovery use` command, which opens a vault with its recovery key.
struct RecoveryUse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Open the vault with its recovery key, and set a new passcode.",
        discussion: """
            For a vault whose passcode is forgotten, or whose device key is lost. The recovery key comes \
            from --recovery-fd or the terminal, the new passcode from --new-passcode-fd or the terminal. \
            The key that was used is void afterwards; a new one replaces it in the same step, and its sheet \
            is printed before: see coffer recovery create. The count of wrong passcodes starts again.

            Items of the class whenPasscodeSetThisDeviceOnly are destroyed: only the old passcode opens them.

            If the desktop keyring has lost the device key, it is stored there again. If the keyring no \
            longer exists or cannot be unlocked, specify --keyring file: the device key and the tokens are \
            then kept in the vault directory. Tokens that the keyring does not return are left behind, and \
            with them the keys of the vault's databases; files are in the vault directory.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var input: RecoveryKeyOptions
    @OptionGroup var new: NewPasscodeOptions
    @OptionGroup var sheet: RecoverySheetOptions

    enum Keyring: String, CaseIterable, ExpressibleByArgument {
        case file, secretService = "secret-service"
    }

    @Option(help: "Where to keep a device key that was lost, and the tokens; default: where it was.")
    var keyring: Keyring?

    func run() async throws {
        let location = try VaultOpener.location(global)
        let recovery = try await VaultRecovery(
            of: location, with: input.key(), interaction: global.interaction)
        if let loss = recovery.loss {
            Output.message("coffer: The device key is taken from its copy. \(loss.message)")
        }
        if recovery.endsPasscodeDependentItems {
            Output.message(
                "coffer: Items in the class whenPasscodeSetThisDeviceOnly, if there are any, are destroyed.")
        }
        let passcode = try VaultOpener.newPasscode(
            onDescriptor: new.newPasscodeFd, policy: recovery.policy)
        let next = try RecoveryKey.generate()
        let number = try next.number(in: recovery.vaultID)
        let isCopied = recovery.opensWithoutDeviceKey
        try sheet.output.show(
            next,
            on: RecoverySheet(
                location: location, vaultID: recovery.vaultID, number: number,
                opensWithoutDeviceKey: isCopied),
            asJSON: global.json)
        let end = try await recovery.finish(
            newPasscode: passcode, newRecoveryKey: next,
            keyring: keyring.map { $0 == .file ? .file : .secretService })
        end.vault.lock()
        try report(number, end.destroyed)
    }

    private func report(_ number: String, _ destroyed: PasscodeDependentItems?) throws(CofferError) {
        guard !global.json else {
            let output = sheet.output
            guard output.isFile else { return }
            return try Output.json(.object([("number", .text(number)), ("sheet", .text(output.name))]))
        }
        if let destroyed, destroyed.count > 0 {
            Output.message(
                "coffer: Destroyed \(Plural.of(destroyed.tokens, "token")), "
                    + "\(Plural.of(destroyed.files, "file")), "
                    + "\(Plural.of(destroyed.databases, "database")) and "
                    + "\(Plural.of(destroyed.keyPairs, "key pair")), which only the old passcode opened.")
        }
        Output.message("coffer: The vault has the new passcode. \(RecoveryCreate.confirmation(number))")
    }
}
