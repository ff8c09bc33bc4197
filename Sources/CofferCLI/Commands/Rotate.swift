import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer rotate` command, which replaces the vault's class keys. With `--all` or `--databases`, the
/// program `coffer-database` runs it, because only that one opens databases.
struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace the vault's keys, so that an older copy of them opens nothing written later.",
        discussion: """
            Creates new keys, wraps the keys of all tokens, files, databases and key pairs under them, and \
            destroys the old keys. Contents are not encrypted again: an older copy of the whole vault still \
            shows what it contains. Private keys of key pairs stay the same.

            Databases have keys of their own. Unless they are replaced, too, with --all or --databases, the \
            command names the databases whose later content an older copy opens. To replace a key, the \
            command writes the database again, which needs disk space for a copy. Programs that use a \
            database must be closed: otherwise it keeps its key and is named, and the exit code is that of \
            a busy vault.

            The passcode comes from --passcode-fd or the terminal, even while the vault is unlocked; \
            --databases alone needs it only while the vault is locked. It stays the same: to replace it, \
            too, use coffer passcode change --rotate. So does the recovery key: to replace it, use coffer \
            recovery create. Earlier backups no longer restore items in ThisDeviceOnly classes: make a new \
            one.

            If the command is interrupted, the next unlock, or --resume, goes on; databases have the old or \
            the new key, and --databases replaces the others. Earlier releases of coffer \
            refuse to open the vault until then. If an item cannot be read, the old keys are kept: restore \
            or remove the item, then use --resume. The namespaces of --user have their own keys.
            """)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var options: RotationOptions

    func run() async throws {
        guard !options.all, !options.databases else {
            return try DatabaseProgram.become(ProgramName.arguments)
        }
        let vault = try await VaultOpener.vault(global)
        guard !options.resume else {
            // The unlock already goes on, so show what is left.
            let wasRotating = try await vault.status().isRotatingKeys
            try await VaultOpener.unlock(vault, with: KeyRotation.passcode(global, of: vault))
            let report = try await vault.resumeKeyRotation()
            guard let report else { return try Self.showEnd(wasRotating: wasRotating, asJSON: global.json) }
            return try KeyRotation.show(report, asJSON: global.json)
        }
        let passcode = try await KeyRotation.passcode(global, of: vault)
        let classes = options.protection.isEmpty ? nil : options.protection.map(\.protection)
        try KeyRotation.show(
            await KeyRotation.rotate(vault, classes, passcode, to: nil), asJSON: global.json)
    }

    private static func showEnd(wasRotating: Bool, asJSON: Bool) throws {
        guard !asJSON else { return try Output.json(.object([("complete", .flag(true))])) }
        try Output.line(wasRotating ? "The rotation is complete" : "No rotation was in progress")
    }
}
