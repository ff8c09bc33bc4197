import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferDatabase
import CofferEngine

/// The `coffer database convert` command, which copies a database into another format.
struct DatabaseConvert: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Copy a database into another format.",
        discussion: """
            The source's rows do not change; if a crash left a journal beside the source, the command first \
            recovers the source. The target must not exist, and appears only when it is complete. The key \
            applies to whichever database is encrypted; if both are, the key applies to both unless you \
            specify a separate key for the target. SQLCipher's settings and --profile describe the source; \
            the target has its format's defaults.

            This command does not open a vault's databases or ask for a passcode.
            """)

    @OptionGroup var global: NoVaultOptions

    @Argument(help: "The database to read.", completion: .file())
    var source: String

    @Argument(help: "The file to create.", completion: .file())
    var target: String

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
    func run() throws(CofferError) {
        let signals = TerminationSignals.install(cancellingWork: true)
        let result: Result<Void, CofferError>
        do throws(CofferError) {
            result = .success(try convert())
        } catch {
            result = .failure(error)
        }
        let received = TerminationSignals.received
        signals.release()
        if case .failure(let error) = result, error.code == .cancelled, let received {
            Output.message("coffer: \(error.message)")
            TerminationSignals.end(by: received)
        }
        try result.get()
        guard global.json else { return }
        try Output.json(.object([("target", .text(target)), ("format", .text(to.name))]))
    }

    private func convert() throws(CofferError) {
        let source = try FilePathArgument.path(source)
        let target = try FilePathArgument.path(target)
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
            guard newKeyHexFd == nil, newPassphraseFd == nil else {
                throw CofferError(
                    .invalidInput,
                    "A plain target database has no key. Omit --new-key-hex-fd and --new-passphrase-fd.")
            }
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
