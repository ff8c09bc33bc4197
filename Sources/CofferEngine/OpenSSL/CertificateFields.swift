/// The contents of a certificate, as OpenSSL reads them. Text in it comes from its author.
package struct CertificateFields: Sendable {
    /// The subject in the form of RFC 4514.
    package let subject: String
    /// The issuer in the form of RFC 4514.
    package let issuer: String
    /// The serial number, with the highest byte first.
    package let serial: [UInt8]
    /// The first second in which the certificate is valid, in seconds since 1970.
    package let notBefore: Int64
    /// The last second in which the certificate is valid, in seconds since 1970.
    package let notAfter: Int64
    /// The subject's alternative names, such as `DNS:a.example`; at most 100.
    package let names: [String]
    /// Whether subject and issuer are the same name.
    package let isSelfIssued: Bool
}
