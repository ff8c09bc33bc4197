import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The options that describe the owner of a certificate.
struct CertificateOptions: ParsableArguments {
    @Option(help: "The owner's name; default: the key pair's alias.")
    var commonName: String?

    @Option(help: "The owner's organization.")
    var organization: String?

    @Option(help: ArgumentHelp("The owner's country.", valueName: "DE"))
    var country: String?

    @Option(
        name: .customLong("dns"), parsing: .singleValue,
        help: ArgumentHelp("An alternative name: a DNS name; may be repeated.", valueName: "name"))
    var dnsNames: [String] = []

    @Option(
        name: .customLong("ip"), parsing: .singleValue,
        help: ArgumentHelp("An alternative name: an IP address; may be repeated.", valueName: "address"))
    var addresses: [String] = []

    @Option(
        name: .customLong("email"), parsing: .singleValue,
        help: ArgumentHelp("An alternative name: an e-mail address; may be repeated.", valueName: "address"))
    var emails: [String] = []

    @Option(
        name: .customLong("uri"), parsing: .singleValue,
        help: ArgumentHelp("An alternative name: a URI; may be repeated.", valueName: "uri"))
    var uris: [String] = []

    @Option(
        help: """
            client for sign-in to a server by TLS, signature for signatures of messages. Default: client if \
            the key pair has the use tls-client, else signature.
            """)
    var purpose: CertificatePurposeArgument?

    /// The owner's name.
    func subject(_ alias: String) throws(CofferError) -> CertificateSubject {
        let name = commonName ?? alias
        for text in [name, organization, country] {
            guard text.map(ProgramArguments.isText) ?? true else {
                throw CofferError(.invalidInput, "The names in a certificate must be UTF-8.")
            }
        }
        return try CertificateSubject(commonName: name, organization: organization, country: country)
    }

    /// The alternative names, in the order of their kinds.
    func names() throws(CofferError) -> [CertificateName] {
        var names: [CertificateName] = []
        for name in dnsNames { names.append(try .dns(name)) }
        for address in addresses { names.append(try .ip(address)) }
        for address in emails { names.append(try .email(address)) }
        for uri in uris { names.append(try .uri(uri)) }
        return names
    }
}

/// The purposes of certificates, as the words that specify them on the command line.
enum CertificatePurposeArgument: String, CaseIterable, ExpressibleByArgument {
    case client, signature

    var purpose: CertificatePurpose {
        switch self {
        case .client: .client
        case .signature: .signature
        }
    }
}
