import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key import` command, which stores a private key with its certificates from a file.
struct KeyImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store a private key and its certificates from a PKCS #12, PEM or PKCS #8 file.",
        discussion: """
            Reads the file from FILE or standard input, and its passphrase, if it has one, from \
            --passphrase-fd or the terminal. The key may be an Ed25519, P-256, P-384 or RSA key (2048 to \
            4096 bits); one of the certificates must be for it, and is stored with those above it. The key \
            is read back and tried by a signature. What else is in the file is named and not stored.

            Refused are files of more than 64 KiB, with two keys or more than eight certificates, or whose \
            keys are derived with more than 10 million rounds. Files in RC2, which old programs write, need \
            OpenSSL's legacy provider. The file stays: remove it yourself.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    @Argument(help: "The file with the key; default: standard input.", completion: .file())
    var file: String?

    @Flag(help: "Accept PKCS #12 only; default: any form.")
    var pkcs12 = false

    @Flag(help: "Accept PEM only; default: any form.")
    var pem = false

    @OptionGroup var passphrase: KeyFilePassphraseOption
    @OptionGroup var uses: KeyPairUseOption
    @OptionGroup var options: KeyPairProtection

    @Flag(help: "Store certificates that have expired.")
    var allowExpired = false

    func run() async throws {
        guard !pkcs12 || !pem else {
            throw CofferError(.invalidInput, "Specify only one of --pkcs12 and --pem.")
        }
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        let bundle = try read()
        let pair = try await vault.keyPairs.importing(
            bundle, alias: alias, class: options.chosenClass, uses: uses.chosen,
            confirmsEachUse: options.confirm, isExportable: options.exportable, allowsExpired: allowExpired)
        let status = try pair.certificateStatus()
        CertificateStatus.report(status.map { [$0] } ?? [])
        guard !global.json else {
            return try Output.json(
                .object([
                    ("keyPair", try pair.document()), ("notStored", .list(bundle.others.map { .text($0) })),
                ]))
        }
        for other in bundle.others { Output.message("coffer: Not stored: \(other.printable)") }
        try Output.line(SSHPublicKey.line(pair.publicKey, comment: pair.alias))
    }

    /// Reads the file. A passphrase on standard input precedes it.
    private func read() throws(CofferError) -> KeyBundle {
        let given = GivenPassphrase(try passphrase.given())
        let input =
            if let file {
                try Self.opened(file)
            } else {
                try Descriptor.standardInput()
            }
        let content = SecretBytes(try SecretInput.all(from: input, limit: KeyBundle.largestSize))
        return try KeyBundle.reading(content, as: pkcs12 ? .pkcs12 : pem ? .pem : nil) {
            () throws(CofferError) in
            if let secret = given.take() { return secret }
            return try PasscodeInput.readRequired(
                nil, prompt: "Passphrase of the file: ", name: "file's passphrase",
                option: "--passphrase-fd")
        }
    }

    /// Opens the file without waiting for another program, as a named pipe would.
    private static func opened(_ path: String) throws(CofferError) -> Descriptor {
        let file = try Descriptor.open(FilePathArgument.path(path), [.read, .nonBlocking])
        guard try file.status().kind == .regular else {
            throw CofferError(
                .invalidInput,
                "\(path.printable) must be a regular file. To import from a pipe, redirect standard input.")
        }
        return file
    }

    /// A passphrase that is taken once, from inside a closure.
    private final class GivenPassphrase {
        private var secret: SecretBytes?

        init(_ secret: consuming SecretBytes?) { self.secret = secret }

        func take() -> SecretBytes? { secret.take() }
    }
}

/// The option for the passphrase of a file with a private key.
struct KeyFilePassphraseOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the file's passphrase from the first line of this descriptor.", valueName: "n"))
    var passphraseFd: Int32?

    /// Reads the passphrase from the descriptor; `nil` if none is given. A carriage return before the newline
    /// belongs to the line's end: programs that ask for the passphrase on a terminal could not enter it.
    func given() throws(CofferError) -> SecretBytes? {
        guard let passphraseFd else { return nil }
        return try PasscodeInput.passcode(on: passphraseFd)
    }

    /// Reads a new passphrase, which the user types twice on a terminal.
    func new() throws(CofferError) -> Passcode {
        if let given = try given() { return try Passcode(given) }
        guard try Descriptor.standardInput().isTerminal else {
            return try Passcode(
                PasscodeInput.readRequired(
                    nil, name: "file's passphrase", option: "--passphrase-fd"))
        }
        return try TypedTwice.read(
            "New passphrase of the file: ", confirmation: "Confirm passphrase: ", noun: "passphrases"
        ) { _ in }
    }
}
