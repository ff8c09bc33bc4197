import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import FoundationEssentials

/// The `coffer key list` command, which lists the key pairs.
struct KeyList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the key pairs, also while the vault is locked.",
        discussion: "During a rotation, an alias has several: the current one, and new or former ones.",
        aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let pairs = try await VaultOpener.vault(global).keyPairs.list(includingRotations: true)
        CertificateStatus.report(
            try pairs.filter { $0.role == .current }.compactMap { (pair) throws(CofferError) in
                try pair.certificateStatus()
            })
        guard !global.json else {
            return try Output.json(
                .object([
                    ("keyPairs", .list(try pairs.map { (pair) throws(CofferError) in try pair.document() }))
                ]))
        }
        let rows = try pairs.map { (pair) throws(CofferError) in
            [
                pair.alias.printable, pair.algorithm.name, String(pair.publicKey.size), pair.protection.name,
                pair.useNames.joined(separator: ", "), pair.confirmsEachUse ? "yes" : "no",
                pair.generationText, pair.created.iso8601, try pair.certificateStatus()?.word ?? "-",
                try SSHPublicKey.fingerprint(pair.publicKey),
            ]
        }
        let heading = [
            "ALIAS", "ALGORITHM", "BITS", "CLASS", "USES", "CONFIRM", "GENERATION", "CREATED", "CERTIFICATE",
            "FINGERPRINT",
        ]
        for line in TextTable.lines(heading, rows, numbers: [2]) { try Output.line(line) }
    }
}

extension KeyPair {
    /// The generation, and the role if the key pair is not the current one.
    fileprivate var generationText: String {
        role == .current ? "\(generation)" : "\(generation), \(role.name)"
    }
}

/// The `coffer key show` command, which describes one key pair.
struct KeyShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Describe one key pair, without its private key.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    func run() async throws {
        let alias = try name.text()
        guard let pair = try await VaultOpener.vault(global).keyPairs.keyPair(alias) else {
            throw KeyPairAlias.absent
        }
        let certificate = try pair.certificateStatus()
        CertificateStatus.report(certificate.map { [$0] } ?? [])
        guard !global.json else { return try Output.json(pair.document()) }
        var lines = [
            ("Alias", pair.alias.printable), ("Identifier", pair.id.uuidString),
            ("Algorithm", "\(pair.algorithm.name), \(pair.publicKey.size) bits"),
            ("Class", pair.protection.name), ("Uses", pair.useNames.joined(separator: ", ")),
            ("Confirm each use", pair.confirmsEachUse ? "yes" : "no"), ("Created", pair.created.iso8601),
            ("Generation", pair.generationText),
            ("Fingerprint", try SSHPublicKey.fingerprint(pair.publicKey)),
            ("Private key", pair.isExportable ? "exportable" : "not exportable"),
        ]
        lines += certificate?.lines ?? []
        for (name, value) in lines { try Output.line("\(name): \(value)") }
    }
}

/// The `coffer key public` command, which prints a public key.
struct KeyPublic: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public", abstract: "Print a public key, also while the vault is locked.",
        discussion: """
            The default form is a line for authorized_keys; pem is a SubjectPublicKeyInfo; certificate is \
            the installed certificate and those of the authorities above it, in PEM.
            """)

    /// The forms of a public key.
    enum Form: String, CaseIterable, ExpressibleByArgument {
        case ssh, pem, certificate
    }

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    @Option(help: "The form of the public key.")
    var form = Form.ssh

    func run() async throws {
        let alias = try name.text()
        guard let pair = try await VaultOpener.vault(global).keyPairs.keyPair(alias) else {
            throw KeyPairAlias.absent
        }
        let text =
            switch form {
            case .ssh: try SSHPublicKey.line(pair.publicKey, comment: pair.alias) + "\n"
            case .pem: try pair.publicKey.pem()
            case .certificate: try Self.certificates(of: pair)
            }
        let name = form == .certificate ? "certificates" : "publicKey"
        guard !global.json else { return try Output.json(.object([(name, .text(text))])) }
        try Output.bytes(Array(text.utf8).span)
    }

    private static func certificates(of pair: KeyPair) throws(CofferError) -> String {
        guard let chain = pair.chain else {
            throw CofferError(
                .absent, "The key pair has no certificate. Request one with coffer key csr.")
        }
        return try chain.pem()
    }
}
