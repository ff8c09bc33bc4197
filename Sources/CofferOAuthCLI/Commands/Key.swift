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
        subcommands: [KeyCreate.self, KeyImport.self, KeyShow.self])
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
        let members = try ClientKey.members(of: publicKey, for: try await profiles.profile(name))
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
            the whole chain, the client's own first, which must belong to the key.
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
            let bytes = try file.readAll(limit: 1 << 16)
            _ = try CertificateFile.digests(of: bytes, option: "--certificate")
            let secret = try key.guardedCopy()
            try Certificates.check(bytes, belongsTo: secret)
            chain = try Token(copying: bytes)
        }
        let profiles = try await Sessions.open(global).profiles
        try await ClientKey.checkIsFree(replace, of: name, in: profiles)
        if let chain { try await profiles.set(chain, as: .certificate, of: name) }
        try await profiles.set(key, as: .key, of: name)
        if global.json { try Output.json(.object([("imported", .flag(true))])) }
    }
}

/// The `coffer oauth key show` command, which prints the public part of a key again.
struct KeyShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the public key, and the digests of its certificates.",
        discussion: """
            The public key is printed as a JSON Web Key, as when it was made, and the SHA-256 digest of each \
            certificate on a line of its own, the client's first. With --json, the output is one object.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var name: String

    func run() async throws {
        let profiles = try await Sessions.open(global).profiles
        let profile = try await profiles.profile(name)
        guard let stored = try await profiles.secret(.key, of: name) else {
            throw CofferError(
                .absent, "The profile \(profile.name) has no private key.", remedy: .storeClientKey)
        }
        let file = try stored.guardedCopy()
        let members = try ClientKey.members(of: try ClientKey.publicKey(in: file), for: profile)
        var digests: [String] = []
        if let chain = try await profiles.secret(.certificate, of: name) {
            digests = try Certificates.digests(of: chain.copyBytes()).map { HexText.encode($0) }
        }
        guard !global.json else {
            let document: [String: JSONValue] = [
                "certificates": .array(digests.map { .string($0) }), "publicKey": .object(members),
            ]
            return try Output.line(try JSONValue.object(document).jsonText())
        }
        try Output.line(try JSONValue.object(members).jsonText())
        for digest in digests { try Output.line("certificate: SHA-256 \(digest)") }
    }
}
