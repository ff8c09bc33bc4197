import ArgumentParser
import Coffer
import CofferBackup
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// The option for a backup's passphrase.
struct BackupPassphraseOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the backup's passphrase from the first line of this descriptor.", valueName: "n"))
    var passphraseFd: Int32?

    private static let name = "backup's passphrase"

    /// Reads the passphrase of an existing backup.
    func current() throws(CofferError) -> BackupPassphrase {
        BackupPassphrase(
            try PasscodeInput.readRequired(
                passphraseFd, prompt: "Backup passphrase: ", name: Self.name, option: "--passphrase-fd"))
    }

    /// Reads a new passphrase, which the user types twice on a terminal.
    func new() throws(CofferError) -> BackupPassphrase {
        guard passphraseFd == nil, try Descriptor.standardInput().isTerminal else { return try current() }
        let typed = try TypedTwice.read(
            "New backup passphrase: ", confirmation: "Confirm passphrase: ", noun: "passphrases"
        ) { _ in }
        return BackupPassphrase(
            try typed.secret.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) })
    }
}

/// The options for what opens a backup.
struct BackupOpeningOptions: ParsableArguments {
    @OptionGroup var passphrase: BackupPassphraseOption

    @Option(
        help: ArgumentHelp(
            "Open the backup with the age identities in this file, as age-keygen writes it.",
            valueName: "file"),
        completion: .file())
    var identity: [String] = []

    private static let maxIdentityFileSize = 1 << 20

    /// Reads what opens the backup at `path`.
    func key(for path: FilePath) throws(CofferError) -> BackupOpeningKey {
        guard identity.isEmpty else {
            guard passphrase.passphraseFd == nil else {
                throw CofferError(.invalidInput, "Specify either --identity or --passphrase-fd.")
            }
            var identities: [AgeIdentity] = []
            for name in identity { identities += try Self.identities(in: FilePathArgument.path(name)) }
            return .identities(identities)
        }
        guard try VaultBackup.needsPassphrase(at: path) else {
            throw CofferError(
                .invalidInput,
                "The backup is encrypted for age identities. Specify the file with one of them as "
                    + "--identity.")
        }
        return .passphrase(try passphrase.current())
    }

    private static func identities(in path: FilePath) throws(CofferError) -> [AgeIdentity] {
        let file = try Descriptor.open(path, [.read, .nonBlocking])
        guard try file.status().kind != .directory else {
            throw CofferError(.invalidInput, "\(path) must be a file.")
        }
        let text = try SecretInput.all(from: file, limit: maxIdentityFileSize)
        let span = text.span
        return try AgeIdentity.list(in: span)
    }
}

extension OmittedItem.Reason {
    /// The reason for people.
    var sentence: String {
        switch self {
        case .damaged: "damaged, so not in the backup"
        case .gone: "removed or reclassified meanwhile, so not in the backup"
        case .newer: "changed meanwhile; the backup has the later state"
        case .empty: "a database without content, so not in the backup"
        case .notExportable: "a key pair, whose private key never leaves the vault; not in the backup"
        }
    }
}

extension BackupContents {
    /// The contents for `--json`, without the list of entries.
    var members: [(String, JSONDocument)] {
        [
            ("vaultID", .text(vaultID)), ("created", .text(created.iso8601)),
            ("tokens", .number(counts.tokens)), ("files", .number(counts.files)),
            ("databases", .number(counts.databases)), ("deviceTokens", .number(counts.deviceTokens)),
            ("deviceFiles", .number(counts.deviceFiles)),
            ("deviceDatabases", .number(counts.deviceDatabases)), ("reserved", .number(reserved)),
            (
                "omitted",
                .list(
                    omitted.map {
                        .object([("path", .text($0.path)), ("reason", .text($0.reason.rawValue))])
                    })
            ),
        ]
    }

    /// One sentence for people.
    var summary: String {
        "\(Plural.of(counts.movable, "item")) can be restored on any device, and "
            + "\(Plural.of(counts.deviceOnly, "item")) only in this backup's own vault."
    }
}

/// A backup to check, and the options for what opens it.
struct BackupArgument: ParsableArguments {
    @OptionGroup var opening: BackupOpeningOptions

    @Argument(help: "The backup.", completion: .file())
    var file: String

    /// Reads and checks the whole backup.
    func contents() async throws(CofferError) -> BackupContents {
        let path = try FilePathArgument.path(file)
        return try await VaultBackup.contents(at: path, with: opening.key(for: path))
    }
}
