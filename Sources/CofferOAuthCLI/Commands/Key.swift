import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferOAuth

/// The `coffer oauth key` command, which groups the subcommands for a client's private key.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "The private key with which a client authenticates itself.",
        subcommands: [KeyCreate.self, KeyImport.self])
}

/// The `coffer oauth key create` command, which makes a key in the vault.
struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a key for ES256 and print its public part.",
        discussion: """
            The private key never leaves the vault. The public key is printed as a JSON Web Key to register \
            with the server, with the profile's key ID if it has one. A key that the profile already has is \
            kept unless --replace is specified.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    @Flag(help: "Replace a key that the profile has.")
    var replace = false

    func run() async throws {
        let profiles = try await Sessions.open(global).profiles
        try await ClientKey.checkIsFree(replace, of: name, in: profiles)
        let (file, publicKey) = try ClientKey.create()
        try await profiles.set(file, as: .key, of: name)
        var members = try publicKey.json().object ?? [:]
        members["kid"] = try await profiles.profile(name).assertionKeyID.map { .string($0) }
        try Output.line(try JSONValue.object(members).jsonText())
    }
}

/// The `coffer oauth key import` command, which stores a key and a certificate that somebody else made.
struct KeyImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Store a key, and its certificate if there is one.",
        discussion: """
            The key is an unencrypted PKCS #8 file, in PEM or DER, for P-256, RSA or Ed25519. It is read \
            from a descriptor, so no name of a file with it is needed. The certificate is a PEM file with \
            the whole chain.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("Read the key from this descriptor.", valueName: "n"))
    var keyFd: Int32

    @Option(help: ArgumentHelp("The certificate with its chain.", valueName: "file"), completion: .file())
    var certificate: String?

    @Flag(help: "Replace a key that the profile has.")
    var replace = false

    func run() async throws {
        let key = try ClientKey.read(keyFd)
        var chain: Token?
        if let certificate {
            let file = try Descriptor.open(ProgramArguments.path(certificate), .read)
            chain = try Token(copying: file.readAll(limit: 1 << 16))
        }
        let profiles = try await Sessions.open(global).profiles
        try await ClientKey.checkIsFree(replace, of: name, in: profiles)
        if let chain { try await profiles.set(chain, as: .certificate, of: name) }
        try await profiles.set(key, as: .key, of: name)
        if global.json { try Output.json(.object([("imported", .flag(true))])) }
    }
}
