import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key csr` command, which prints a request for a certificate.
struct KeyCSR: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "csr", abstract: "Print a request for a certificate, which an authority signs.",
        discussion: """
            The request (PKCS #10, in PEM) contains the public key, and is signed with the private one. Send \
            it to the authority, and install the certificate that it returns with coffer key install. Until \
            then, coffer key list shows the key pair as awaitingSignature. A certificate that it has stays \
            in use.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: CertificateOptions

    func run() async throws {
        let alias = try name.text()
        let (subject, names) = (try options.subject(alias), try options.names())
        let vault = try await VaultOpener.unlocked(global)
        let request = try await vault.keyPairs.csr(
            for: alias, subject: subject, names: names, purpose: options.purpose?.purpose,
            confirm: KeyPairAlias.isConfirmed)
        let text = try CertificatePEM.pem(request, "CERTIFICATE REQUEST")
        guard !global.json else { return try Output.json(.object([("request", .text(text))])) }
        try Output.bytes(Array(text.utf8).span)
    }
}

/// The `coffer key self-signed` command, which makes a certificate without an authority.
struct KeySelfSigned: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "self-signed",
        abstract: "Make and install a certificate that the key pair signs itself; print it.",
        discussion: "Programs accept such a certificate only if somebody tells them to trust it.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: CertificateOptions

    @Option(help: "The number of days for which it is valid, at most 825.")
    var days = 365

    @Flag(help: "Replace the certificate that the key pair has.")
    var replace = false

    func run() async throws {
        let alias = try name.text()
        let (subject, names) = (try options.subject(alias), try options.names())
        let vault = try await VaultOpener.unlocked(global)
        let chain = try await vault.keyPairs.selfSign(
            alias, subject: subject, names: names, purpose: options.purpose?.purpose, days: days,
            replacing: replace, confirm: KeyPairAlias.isConfirmed)
        let text = try chain.pem()
        guard !global.json else { return try Output.json(.object([("certificates", .text(text))])) }
        try Output.bytes(Array(text.utf8).span)
    }
}

/// The `coffer key install` command, which stores the certificates that an authority returned.
struct KeyInstall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Install the certificate that an authority signed.",
        discussion: """
            Reads the certificate, in PEM or DER, from FILE or standard input; in PEM, those of the \
            authorities above it may follow, each after the one that it signed. They replace what the key \
            pair has. Checked are the public key, the order, the signatures and the dates, not whether \
            anybody trusts the authority. A certificate of another key is a conflict (10).
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    @Argument(help: "The file with the certificates; default: standard input.", completion: .file())
    var file: String?

    @Flag(help: "Install certificates that have expired.")
    var allowExpired = false

    func run() async throws {
        let alias = try name.text()
        // Read the passcode first: on standard input, it precedes the certificates.
        let vault = try await VaultOpener.unlocked(global)
        let chain = try CertificateChain(reading: content())
        let pair = try await vault.keyPairs.install(chain, for: alias, allowsExpired: allowExpired)
        let status = try pair.certificateStatus()
        CertificateStatus.report(status.map { [$0] } ?? [])
        if global.json { try Output.json(pair.document()) }
    }

    /// Returns at most one byte more than a chain may have.
    private func content() throws(CofferError) -> [UInt8] {
        let input =
            if let file {
                try Descriptor.open(FilePathArgument.path(file), .read)
            } else {
                try Descriptor.standardInput()
            }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while bytes.count <= CertificateChain.largestSize {
            var span = buffer.mutableSpan
            guard let count = try input.readSome(into: &span) else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
