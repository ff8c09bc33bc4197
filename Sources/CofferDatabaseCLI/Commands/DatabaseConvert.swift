import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferDatabase
import CofferEngine
import SystemPackage

/// The `coffer database convert` command, which copies a database into another format.
struct DatabaseConvert: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Copy a database into another format.",
        discussion: """
            The source's rows do not change; if a crash left a journal beside the source, the command first \
            recovers the source. The target must not exist, and appears only when it is complete. The key \
            applies to whichever database is encrypted; if both are, the key applies to both unless you \
            specify a separate key for the target. SQLCipher's settings and --profile describe the source; \
            the target has its format's defaults.

            With --vault, the source, never the target, is one of the vault's own databases: omit its path, \
            --from and the source's key. The target needs a key of its own, or --to plain. The vault must be \
            unlocked, or you must supply its passcode. Without --vault, the command needs no vault.

            A plain target is not encrypted: anyone who can read the file can read all its data. If the \
            command is killed while it writes one, what it has written stays unencrypted in a directory \
            .coffer-unfinished-… beside the target until the next conversion there. A database of the vault \
            cannot be written into the vault's directory, or where the administrator's policy forbids it.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(
        help: "The database to read, then the file to create; with --vault, only the latter.",
        completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp("Read the vault's own database with this name.", valueName: "name"),
        completion: DatabaseNames.database)
    var vault: String?

    @Option(
        help: ArgumentHelp(
            "The source's format, or plain; for known settings, use --profile.", valueName: "codec"))
    var from: Format?

    @Option(help: ArgumentHelp("The target's format, or plain.", valueName: "codec"))
    var to: Format

    @OptionGroup var keys: DatabaseKeyOptions

    @Option(help: ArgumentHelp("The target's key, in hexadecimal, on this descriptor.", valueName: "n"))
    var newKeyHexFd: Int32?

    @Option(help: ArgumentHelp("The target's passphrase, on this descriptor.", valueName: "n"))
    var newPassphraseFd: Int32?

    /// A database format, or `plain` for an unencrypted database.
    enum Format: ExpressibleByArgument {
        case plain
        case encrypted(DatabaseFormat)

        init?(argument: String) {
            if argument == "plain" {
                self = .plain
            } else if let format = DatabaseFormat(rawValue: argument) {
                self = .encrypted(format)
            } else {
                return nil
            }
        }

        var name: String {
            switch self {
            case .plain: "plain"
            case .encrypted(let format): format.rawValue
            }
        }

        static var allValueStrings: [String] { ["plain"] + DatabaseFormat.allCases.map(\.rawValue) }
    }

    /// Converts the database. On a termination signal, removes the unfinished target before the process ends.
    func run() async throws {
        let target: String
        if let vault {
            guard files.count == 1 else {
                throw CofferError(
                    .invalidInput,
                    "A database in the vault has no path. With --vault, specify only the file to create.")
            }
            target = files[0]
            try await convert(vault, to: FilePathArgument.path(target))
        } else {
            guard files.count == 2 else {
                throw CofferError(
                    .invalidInput,
                    "Specify the database to read, or --vault and its name, and the file to create.")
            }
            target = files[1]
            let (from, to) = (try FilePathArgument.path(files[0]), try FilePathArgument.path(target))
            try await CancellableWork.run { () throws(CofferError) in try convert(from, to: to) }
        }
        guard global.json else { return }
        try Output.json(.object([("target", .text(target)), ("format", .text(to.name))]))
    }

    /// Converts one of the vault's own databases.
    private func convert(_ name: String, to target: FilePath) async throws(CofferError) {
        guard from == nil, !keys.isGiven, !keys.describesDatabase else {
            throw CofferError(
                .invalidInput,
                "The vault stores the source's key. Omit --from, --key-hex-fd, --passphrase-fd and "
                    + "SQLCipher's settings; specify the target's key with --new-key-hex-fd or "
                    + "--new-passphrase-fd.")
        }
        let format: DatabaseFormat?
        switch to {
        case .plain:
            try requireNoNewKey()
            format = nil
        case .encrypted(let new):
            guard newKeyHexFd != nil || newPassphraseFd != nil else {
                throw CofferError(
                    .invalidInput,
                    "The file needs a key of its own. Specify it with --new-key-hex-fd or "
                        + "--new-passphrase-fd.")
            }
            format = new
        }
        try await VaultOpener.withPasscode(global) { (opened) async throws(CofferError) -> Void in
            let databases = VaultDatabases(opened)
            try await CancellableWork.run { () async throws(CofferError) in
                if let format, let key = try newKey(format) {
                    try await databases.export(name, to: target, newKey: key)
                } else {
                    try await databases.exportPlain(name, to: target)
                }
            }
        }
    }

    private func requireNoNewKey() throws(CofferError) {
        guard newKeyHexFd == nil, newPassphraseFd == nil else {
            throw CofferError(
                .invalidInput,
                "A plain target database has no key. Omit --new-key-hex-fd and --new-passphrase-fd.")
        }
    }

    private func convert(_ source: FilePath, to target: FilePath) throws(CofferError) {
        guard from != nil || keys.profile != nil else {
            throw CofferError(
                .invalidInput,
                "Specify the source's format with --from, which takes "
                    + "\(Format.allValueStrings.joined(separator: ", ")), or its settings with --profile. "
                    + "For a database in the vault, specify --vault and its name instead of a path.")
        }
        var old: DatabaseFormat?
        switch from {
        case .plain:
            guard case .encrypted(let format) = to else {
                throw CofferError(
                    .invalidInput,
                    "Nothing was converted, because both databases are plain. To encrypt the source, "
                        + "specify another format with --to.")
            }
            guard !keys.describesDatabase else {
                throw CofferError(
                    .invalidInput, "A plain database has no SQLCipher settings. Omit the options for them.")
            }
            return try EncryptedDatabase.encrypt(source, to: target, key: encryptionKey(format))
        case .encrypted(let format): old = format
        case nil: break
        }
        switch to {
        case .plain:
            try requireNoNewKey()
            try EncryptedDatabase.exportPlain(source, key: keys.key(old, at: source), to: target)
        case .encrypted(let new):
            let key = try keys.keys(old, at: source, new)
            if let other = try newKey(new) {
                try EncryptedDatabase.convert(
                    source, key: key.first, to: target, newKey: other)
            } else {
                try EncryptedDatabase.convert(
                    source, key: key.first, to: target, newKey: key.second)
            }
        }
    }

    /// Returns the key for the target: its separate key if one was given, and otherwise the key from
    /// `--key-hex-fd` or `--passphrase-fd`.
    private func encryptionKey(_ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        if let own = try newKey(format) { return own }
        return try keys.newKey(format)
    }

    private func newKey(_ format: DatabaseFormat) throws(CofferError) -> DatabaseKey? {
        switch (newKeyHexFd, newPassphraseFd) {
        case (nil, nil): return nil
        case (let number?, nil): return try DatabaseKeyOptions.rawKey(on: number, format)
        case (nil, let number?): return try DatabaseKeyOptions.passphrase(on: number, format)
        default:
            throw CofferError(
                .invalidInput, "Specify either --new-key-hex-fd or --new-passphrase-fd, not both.")
        }
    }
}
