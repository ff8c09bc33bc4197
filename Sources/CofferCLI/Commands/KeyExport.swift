import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key export` command, which writes an exportable private key to an encrypted file.
struct KeyExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write an exportable private key and its certificates to an encrypted file.",
        discussion: """
            Only key pairs that were stored with --exportable can be exported. The file is encrypted with \
            AES-256 under a passphrase of at least 12 bytes, which is its only protection against anyone \
            who ever obtains it, so choose a long random one. pkcs12 and pem include the certificates; \
            pkcs8 is the key alone, in DER. Without --output, the file is written to standard output, in a \
            binary form not to a terminal; with it, a new file that only you can read.
            """)

    /// The forms of files.
    enum Form: String, CaseIterable, ExpressibleByArgument {
        case pkcs12, pem, pkcs8

        var form: KeyBundle.Form {
            switch self {
            case .pkcs12: .pkcs12
            case .pem: .pem
            case .pkcs8: .pkcs8
            }
        }
    }

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var passphrase: KeyFilePassphraseOption

    @Option(help: "The form of the file.")
    var form = Form.pkcs12

    @Option(help: "The file to create.", completion: .file())
    var output: String?

    func run() async throws {
        guard output != nil || !global.json else {
            throw CofferError(.invalidInput, "With --json, specify --output.")
        }
        let alias = try name.text()
        let path = try output.map { (path) throws(CofferError) in try FilePathArgument.path(path) }
        // Read the passcode first: if both secrets are lines of standard input, it precedes the passphrase.
        let vault = try await VaultOpener.unlocked(global)
        let secret = try passphrase.new()
        let bytes = try await vault.keyPairs.export(
            alias, as: form.form, passphrase: secret, confirm: KeyPairAlias.isExportConfirmed)
        guard let path else { return try ContentOutput(forcing: false).writeAll(bytes.span) }
        try PrivateOutputFile.create(
            SecretBytes.copying(bytes.span), at: path, outside: VaultOpener.location(global))
        if global.json { try Output.json(.object([("exported", .flag(true))])) }
    }
}
