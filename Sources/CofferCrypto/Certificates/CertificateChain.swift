public import CofferBase
import CofferEngine

/// The certificate of a key pair and those of the authorities above it: the key pair's own one first, each
/// signed by the next.
public struct CertificateChain: Sendable, Hashable {
    /// The maximum number of bytes that are read, of a file and of a chain.
    public static let largestSize = 65_536
    /// The maximum number of certificates.
    public static let mostCertificates = 8

    /// The certificates in DER.
    public let certificates: [[UInt8]]

    /// Reads a chain without checking it.
    ///
    /// - Parameter file: One certificate in DER, or 1 to 8 certificates in PEM (`BEGIN CERTIFICATE`), with
    ///   text around them, which is ignored. At most 64 KiB.
    /// - Throws: `invalidInput` if the file is anything else: larger, with more certificates, with bytes
    ///   after a certificate, or with a private key.
    public init(reading file: [UInt8]) throws(CofferError) {
        guard file.count <= Self.largestSize else {
            throw CofferError(.invalidInput, "The file with the certificates is longer than 64 KiB.")
        }
        // A certificate has more than 127 bytes, so its length begins with a byte that is no character.
        let isDER = file.count > 1 && file[0] == DERReader.sequence && file[1] >= 0x80
        let blocks = isDER ? [file] : try CertificatePEM.blocks(in: file)
        guard 1...Self.mostCertificates ~= blocks.count else {
            throw CofferError(
                .invalidInput,
                blocks.isEmpty
                    ? "The file is neither certificates in PEM (BEGIN CERTIFICATE) nor a certificate in DER."
                    : "The file contains more than \(Self.mostCertificates) certificates.")
        }
        for block in blocks { _ = try Self.newCertificate(block) }
        certificates = blocks
    }

    /// Creates a chain of certificates that were checked before they were stored.
    package init(stored certificates: [[UInt8]]) { self.certificates = certificates }

    /// Reads a certificate that comes from outside. OpenSSL accepts BER in it, which other programs refuse.
    static func newCertificate(_ der: [UInt8]) throws(CofferError) -> X509Certificate {
        let certificate = try certificate(der)
        guard DERForm.isKept(by: der.span) else { throw unreadable }
        return certificate
    }

    static func certificate(_ der: [UInt8]) throws(CofferError) -> X509Certificate {
        guard der.count <= largestSize, let certificate = X509Certificate.read(der.span) else {
            throw unreadable
        }
        return certificate
    }

    private static var unreadable: CofferError {
        CofferError(
            .invalidInput,
            "A certificate is damaged, is not in DER, has bytes after its end, or has a public key or an "
                + "extension that cannot be read.")
    }

    /// Checks that the chain can be installed for a key pair: the first certificate has its public key, each
    /// is issued and signed by the next, no key is weaker than RSA with 2048 bits, no signature uses a hash
    /// function weaker than SHA-256, and all are valid at a time.
    ///
    /// It is not checked whether anybody trusts the last certificate, or whether one was revoked.
    ///
    /// - Parameters:
    ///   - publicKey: The key pair's public key.
    ///   - now: The time in seconds since 1970.
    ///   - allowsExpired: Whether certificates may have expired.
    /// - Throws: `conflict` if the first certificate has another public key; `invalidInput` if the order is
    ///   wrong or a signature is invalid; `refused` for a weak key or signature, or for the time;
    ///   `unsupported` for a critical extension that OpenSSL does not support.
    public func check(
        for publicKey: SigningPublicKey, at now: Int64, allowsExpired: Bool = false
    ) throws(CofferError) {
        let all = try certificates.map { (der) throws(CofferError) in try Self.certificate(der) }
        let info = publicKey.subjectPublicKeyInfo
        guard let leaf = all.first, leaf.hasPublicKey(info.span) else {
            throw CofferError(
                .conflict,
                all.dropFirst().contains { $0.hasPublicKey(info.span) }
                    ? "The key pair's own certificate is not the first one. Put it first."
                    : "The certificate is for another key: its public key is not that of this key pair.")
        }
        for index in all.indices {
            try Self.checkForm(all[index], index + 1)
            guard index + 1 < all.count else {
                guard all[index].isWronglySelfSigned else { continue }
                throw CofferError(
                    .invalidInput, "Certificate \(index + 1) is self-signed, and its signature is invalid.")
            }
            guard all[index].isIssued(by: all[index + 1]) else {
                throw CofferError(
                    .invalidInput,
                    "Certificate \(index + 1) is not issued and signed by certificate \(index + 2). Each "
                        + "must be followed by that of the authority that signed it.")
            }
        }
        for (index, certificate) in all.enumerated() {
            try Self.checkTime(try certificate.fields(), index + 1, now, allowsExpired)
        }
    }

    private static func checkForm(
        _ certificate: X509Certificate, _ number: Int
    ) throws(CofferError) {
        guard !certificate.hasUnknownCriticalExtension else {
            throw CofferError(
                .unsupported,
                "Certificate \(number) has a critical extension that OpenSSL does not support, so programs "
                    + "that check the certificate refuse it. Have one issued without this extension.")
        }
        guard certificate.hasStrongKey else {
            throw CofferError(
                .refused, "The key of certificate \(number) is weaker than RSA with 2048 bits.")
        }
        guard certificate.hasStrongSignature else {
            throw CofferError(
                .refused,
                "Certificate \(number) is signed with a hash function weaker than SHA-256. If it is that of "
                    + "a root authority, leave it out: those who trust it have it.")
        }
    }

    private static func checkTime(
        _ fields: CertificateFields, _ number: Int, _ now: Int64, _ allowsExpired: Bool
    ) throws(CofferError) {
        guard fields.notBefore <= now else {
            throw CofferError(
                .refused, "Certificate \(number) is not valid yet. Check this machine's clock, or wait.")
        }
        guard allowsExpired || now <= fields.notAfter else {
            throw CofferError(.refused, "Certificate \(number) has expired.")
        }
    }

    /// Returns the chain in PEM (RFC 7468).
    ///
    /// - Throws: `outOfMemory`.
    public func pem() throws(CofferError) -> String {
        try certificates.map { (der) throws(CofferError) in
            try CertificatePEM.pem(der, "CERTIFICATE")
        }.joined()
    }
}
