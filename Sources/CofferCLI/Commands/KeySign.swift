import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The options that select the form of a signature.
struct SignatureOptions: ParsableArguments {
    /// The schemes of RSA signatures.
    enum RSAScheme: String, CaseIterable, ExpressibleByArgument {
        case pssSHA256 = "pss-sha256"
        case pkcs1SHA256 = "pkcs1-sha256"
        case pkcs1SHA512 = "pkcs1-sha512"

        var scheme: SigningScheme {
            switch self {
            case .pssSHA256: .rsaPSSSHA256
            case .pkcs1SHA256: .rsaSHA256
            case .pkcs1SHA512: .rsaSHA512
            }
        }
    }

    @Option(help: "With an RSA key: the scheme; default pss-sha256.")
    var rsa: RSAScheme?

    func scheme(of pair: KeyPair) throws(CofferError) -> SigningScheme {
        guard rsa == nil || pair.algorithm == .rsa else {
            throw CofferError(.invalidInput, "--rsa requires an RSA key.")
        }
        return rsa?.scheme ?? .standard(for: pair.algorithm)
    }
}

/// The `coffer key sign` command, which signs standard input.
struct KeySign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign", abstract: "Sign standard input; print the signature in Base64.",
        discussion: """
            Signs the message itself, with Ed25519, ECDSA with the hash function of the curve, or RSA. ECDSA \
            signatures are in DER, as OpenSSL and X.509 have them. The public key for other programs is that \
            of coffer key public --form pem.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: SignatureOptions

    @Flag(help: "Write the bytes of the signature instead of Base64.")
    var binary = false

    func run() async throws {
        guard !binary || !global.json else {
            throw CofferError(.invalidInput, "Specify only one of --binary and --json.")
        }
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        guard let pair = try await vault.keyPairs.keyPair(alias) else { throw KeyPairAlias.absent }
        let scheme = try options.scheme(of: pair)
        let message = try MessageInput.read()
        let raw = try await vault.keyPairs.sign(
            message, with: alias, scheme: scheme, confirm: KeyPairAlias.isConfirmed)
        let signature = pair.publicKey.standardForm(of: raw)
        guard !binary else { return try Output.bytes(signature.span) }
        let text = String(decoding: try Encoding.base64Text(signature), as: UTF8.self)
        guard global.json else { return try Output.line(text) }
        try Output.json(
            .object([("signature", .text(text)), ("algorithm", .text(pair.algorithm.name))]))
    }
}

/// The `coffer key verify` command, which verifies a signature of standard input.
struct KeyVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verify a signature of standard input with a key pair's public key.",
        discussion: "Works while the vault is locked. Ends with 7 if the signature is not valid.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: SignatureOptions

    @Option(help: ArgumentHelp("The signature, as coffer key sign prints it.", valueName: "base64"))
    var signature: String

    func run() async throws {
        let alias = try name.text()
        let given = try decoded()
        guard let pair = try await VaultOpener.vault(global).keyPairs.keyPair(alias) else {
            throw KeyPairAlias.absent
        }
        let scheme = try options.scheme(of: pair)
        let message = try MessageInput.read()
        guard let raw = pair.publicKey.rawForm(of: given),
            try pair.publicKey.isValid(signature: raw.span, for: message.span, scheme: scheme)
        else { throw CofferError(.notAuthentic, "The signature is not valid for this message and key pair.") }
        if global.json { try Output.json(.object([("valid", .flag(true))])) }
    }

    private func decoded() throws(CofferError) -> [UInt8] {
        guard ProgramArguments.isText(signature) else {
            throw CofferError(.invalidInput, "--signature must be Base64.")
        }
        let text = Array(signature.utf8)
        do throws(CofferError) {
            let bytes = try Encoding.decodeBase64Lines(text.span)
            return bytes.span.copied()
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw CofferError(.invalidInput, "--signature must be Base64.")
        }
    }
}

extension SigningPublicKey {
    /// Returns a signature in the form that other programs expect: DER for ECDSA.
    fileprivate func standardForm(of signature: [UInt8]) -> [UInt8] {
        let der: [UInt8]?
        switch self {
        case .p256: der = ECDSAP256.der(signature.span)
        case .p384: der = ECDSAP384.der(signature.span)
        case .ed25519, .rsa: der = nil
        }
        guard let der else { return signature }
        return der
    }

    /// Returns a signature in its own form; `nil` if it is not in the form that other programs expect.
    fileprivate func rawForm(of signature: [UInt8]) -> [UInt8]? {
        switch self {
        case .p256: return ECDSAP256.signature(der: signature.span)
        case .p384: return ECDSAP384.signature(der: signature.span)
        case .ed25519, .rsa: return signature
        }
    }
}
