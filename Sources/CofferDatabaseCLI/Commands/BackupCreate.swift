import ArgumentParser
import Coffer
import CofferBackup
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer backup create` command, which writes a backup.
struct BackupCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Write a backup of the whole vault.",
        discussion: """
            With --to, the identities of the recipients open the backup (see age-keygen), so this machine \
            needs no secret for it. Otherwise, a passphrase of at least 12 bytes opens it; anyone who has \
            the backup can try passphrases without limit, so choose a long random one. Recipients that the \
            administrator's policy requires are added; then there can be no passphrase.

            The backup appears complete or not at all. An existing file is not replaced unless --keep is \
            specified: then FILE becomes FILE.1, FILE.1 becomes FILE.2, and so on. Other programs can go on \
            using the vault.

            Session-only items, tokens that wait for an unlock, tokens of sessions at OAuth servers, and key \
            pairs are not in a backup; the command names the key pairs. Damaged items are left out, and the \
            command ends with 7.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var passphrase: BackupPassphraseOption

    @Option(help: ArgumentHelp("Encrypt for this age recipient; can be repeated.", valueName: "age1…"))
    var to: [String] = []

    @Option(help: ArgumentHelp("Keep this many backups, and replace the file.", valueName: "n"))
    var keep: Int?

    @Argument(help: "The file to create.", completion: .file())
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        guard to.isEmpty || passphrase.passphraseFd == nil else {
            throw CofferError(.invalidInput, "Specify either --to or --passphrase-fd.")
        }
        let recipients = try to.map { (text) throws(CofferError) in try AgeRecipient(text) }
        // Read the passcode first: if both secrets are lines of standard input, it precedes the passphrase.
        let vault = try await VaultOpener.unlocked(global)
        let required = try vault.managedPolicy().list(.backupRecipients) ?? []
        let isForRecipients = !recipients.isEmpty || (!required.isEmpty && passphrase.passphraseFd == nil)
        let key: BackupKey =
            isForRecipients ? .recipients(recipients) : .passphrase(try passphrase.new())
        let contents = try await CancellableWork.run { () throws(CofferError) in
            try await vault.createBackup(at: path, for: key, keeping: keep)
        }
        try report(contents)
    }

    private func report(_ contents: BackupContents) throws {
        if global.json { try Output.json(.object(contents.members)) }
        Output.message("coffer: \(contents.summary)")
        if contents.counts.deviceOnly > 0, contents.counts.movable == 0 {
            Output.message(
                "coffer: This backup brings back nothing on another device. To change that, run coffer "
                    + "reclass --all --class whenUnlocked, then back up again.")
        }
        if contents.reserved > 0 {
            Output.message(
                "coffer: \(Plural.of(contents.reserved, "token")) of OAuth sessions, or waiting for an "
                    + "unlock, stay behind.")
        }
        for item in contents.omitted where item.reason != .damaged {
            Output.message("coffer: \(item.path.printable): \(item.reason.sentence)")
        }
        let damaged = contents.omitted.count { $0.reason == .damaged }
        guard damaged > 0 else { return }
        Output.message(
            "coffer: The backup omits \(Plural.of(damaged, "damaged item")). For details, run coffer token "
                + "list and coffer file verify --all.")
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }
}
