import ArgumentParser
import Coffer
import CofferBackup
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

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
            specified: then FILE becomes FILE.1, FILE.1 becomes FILE.2, and so on; the oldest is removed, \
            but not for a backup that omits damaged items. A file that is no backup is never replaced, \
            renamed or removed. Other programs can go on using the vault.

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

    @Flag(
        help: """
            Make no backup now, but write systemd user units that make this one each day; needs --to and \
            --keep.
            """)
    var install = false

    @Flag(help: "With --install, replace existing units.")
    var replace = false

    @Argument(help: "The file to create.", completion: .file())
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        guard to.isEmpty || passphrase.passphraseFd == nil else {
            throw CofferError(.invalidInput, "Specify either --to or --passphrase-fd.")
        }
        let recipients = try to.map { (text) throws(CofferError) in try AgeRecipient(text) }
        guard !install else { return try installTimer(path, recipients) }
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

    /// Writes the units of a daily backup, for which nobody can enter a secret.
    private func installTimer(_ path: FilePath, _ recipients: [AgeRecipient]) throws {
        guard !recipients.isEmpty, let keep, (1...1000).contains(keep), global.passcodeFd == nil else {
            throw CofferError(
                .invalidInput,
                "--install needs --to and a --keep from 1 to 1000, and takes no --passcode-fd: nobody enters "
                    + "a secret at the time of a daily backup.")
        }
        let program = String(decoding: try CurrentExecutable.path(ofSibling: "coffer"), as: UTF8.self)
        let current = Environment.workingDirectory
        let (home, file) = (try global.homePath(), current?.pushing(path) ?? path)
        var words = [program, "backup", "create", "--home", (current?.pushing(home) ?? home).string]
        if let user = global.user { words += ["--user", user] }
        words += to.flatMap { ["--to", $0] } + ["--keep", "\(keep)", file.string]
        let paths = try BackupTimer(command: words).install(replacing: replace)
        guard !global.json else {
            return try Output.json(.object([("files", .list(paths.map { .text($0.string) }))]))
        }
        for path in paths { try Output.line(path.string) }
        Output.message("coffer: To begin, run systemctl --user enable --now coffer-backup.timer.")
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
