import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import FoundationEssentials

extension CertificateStatus {
    /// Prints a line to standard error for each certificate that has expired or expires within 30 days.
    static func report(_ certificates: [CertificateStatus]) {
        for certificate in certificates where certificate.warning != nil {
            let remedy = CofferError.Remedy.renewCertificate.sentence
            Output.message("\(certificate.sentence.printable) \(remedy)")
        }
    }

    /// The state in a table.
    var word: String {
        guard state == .usable, let expires else { return state.rawValue }
        return "until " + expires.iso8601
    }

    /// The members of the document that coffer status prints.
    var shortDocument: JSONDocument {
        .object([
            ("alias", .text(alias)), ("state", .text(state.rawValue)),
            ("expires", expires.map { .text($0.iso8601) } ?? .none),
            ("daysLeft", daysLeft.map { .number($0) } ?? .none),
        ])
    }

    /// The members of the document that describes the certificate.
    func document() -> JSONDocument {
        guard let details, let expires, let daysLeft else {
            return .object([("state", .text(state.rawValue))])
        }
        return .object([
            ("state", .text(state.rawValue)), ("subject", .text(details.subject)),
            ("issuer", .text(details.issuer)), ("serial", .text(details.serial)),
            ("names", .list(details.names.map { .text($0) })),
            ("notBefore", .text(Self.date(details.notBefore))), ("expires", .text(expires.iso8601)),
            ("daysLeft", .number(daysLeft)), ("sha256", .text(HexText.encode(details.fingerprint))),
        ])
    }

    /// The lines of a description for people.
    var lines: [(String, String)] {
        guard let details, let expires else { return [("Certificate", state.rawValue)] }
        return [
            ("Certificate", state.rawValue), ("Subject", details.subject.printable),
            ("Issuer", details.issuer.printable), ("Serial", details.serial),
            ("Names", details.names.map(Self.listed).joined(separator: ", ")),
            ("Valid from", Self.date(details.notBefore)), ("Valid until", expires.iso8601),
            ("Certificate's SHA-256", HexText.encode(details.fingerprint)),
        ]
    }

    /// Returns a name for a list, with a backslash before each comma in it, so that one name does not look
    /// like two.
    private static func listed(_ name: String) -> String {
        let marks: [Unicode.Scalar] = ["\\", ","]
        return marks.reduce(name.printable) { text, mark in
            text.parts(between: mark, keepsEmpty: true).joined(separator: "\\\(mark)")
        }
    }

    private static func date(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).iso8601
    }
}
