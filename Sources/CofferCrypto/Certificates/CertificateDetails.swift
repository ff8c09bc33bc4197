public import CofferBase
import CofferEngine

/// The contents of a certificate that a program shows or decides by. The text in it comes from the
/// certificate's author.
public struct CertificateDetails: Sendable, Hashable {
    /// The owner's name in the form of RFC 4514, such as `CN=ada,O=Example`.
    public let subject: String
    /// The name of the authority that signed the certificate, in the same form.
    public let issuer: String
    /// The serial number in lowercase hexadecimal.
    public let serial: String
    /// The first second in which the certificate is valid, in seconds since 1970.
    public let notBefore: Int64
    /// The last second in which the certificate is valid, in seconds since 1970.
    public let notAfter: Int64
    /// The owner's alternative names, such as `DNS:a.example`; at most the first 100.
    public let names: [String]
    /// Whether the owner and the authority have the same name, as in a self-signed certificate.
    public let isSelfIssued: Bool
    /// The SHA-256 digest of the certificate, 32 bytes.
    public let fingerprint: [UInt8]

    /// Reads a certificate.
    ///
    /// - Parameter der: The certificate in DER, without anything after it.
    /// - Throws: `invalidInput` if the bytes are not a certificate, or more than 64 KiB; `outOfMemory`.
    public init(der: [UInt8]) throws(CofferError) {
        try self.init(try CertificateChain.certificate(der).fields(), der)
    }

    private init(_ fields: CertificateFields, _ der: [UInt8]) throws(CofferError) {
        subject = fields.subject
        issuer = fields.issuer
        serial = HexText.encode(fields.serial)
        notBefore = fields.notBefore
        notAfter = fields.notAfter
        names = fields.names
        isSelfIssued = fields.isSelfIssued
        fingerprint = try Digest.sha256.hash(der.span)
    }
}
