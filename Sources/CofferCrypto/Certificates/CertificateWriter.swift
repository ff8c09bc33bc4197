package import CofferBase
import CofferEngine

/// Self-signed certificates (RFC 5280) and requests for certificates (PKCS #10, RFC 2986).
///
/// They are written here and not by OpenSSL, so that the private key signs in guarded memory as it signs
/// everything else.
package enum CertificateWriter {
    /// The maximum number of days for which a self-signed certificate is valid.
    package static let longestDays = 825
    private static let secondsADay: Int64 = 86_400

    /// Returns a self-signed certificate of version 3 in DER: with a serial number of 64 random bits, and not
    /// that of an authority.
    ///
    /// - Parameters:
    ///   - key: The private key.
    ///   - subject: The owner, who is also the issuer.
    ///   - names: The owner's alternative names, at most 100.
    ///   - purpose: The purpose that the certificate states.
    ///   - start: The first second of its validity, since 1970.
    ///   - days: The number of days that it is valid, 1 to 825.
    /// - Returns: The certificate.
    /// - Throws: `invalidInput` for too many names, another number of days, or a clock before 1970 or after
    ///   9996.
    package static func selfSigned(
        _ key: borrowing SigningPrivateKey, _ subject: CertificateSubject, _ names: [CertificateName],
        _ purpose: CertificatePurpose, from start: Int64, days: Int
    ) throws(CofferError) -> [UInt8] {
        guard 1...longestDays ~= days else {
            throw CofferError(
                .invalidInput, "A self-signed certificate is valid for 1 to \(longestDays) days.")
        }
        let info = key.publicKey.subjectPublicKeyInfo
        let end = start + Int64(days) * secondsADay - 1
        let validity = try time(start) + time(end)
        let serial = try SecureRandom.bytes(8)
        let extensions = try CertificateExtensions.encoded(
            purpose, names, keyIdentifier: Array(try Digest.sha256.hash(info.span).prefix(20)))
        let body: [UInt8] =
            DERWriter.element(0xA0, [0x02, 0x01, 0x02]) + DERWriter.positive(serial)
            + algorithm(key.publicKey.algorithm) + subject.encoded + DERWriter.element(0x30, validity)
            + subject.encoded + info + DERWriter.element(0xA3, extensions)
        return try signed(DERWriter.element(0x30, body), key)
    }

    /// Returns a request for a certificate in DER, with the alternative names and the usage as requested
    /// extensions.
    ///
    /// - Parameters:
    ///   - key: The private key, whose signature proves that its owner asks.
    ///   - subject: The owner.
    ///   - names: The owner's alternative names, at most 100.
    ///   - purpose: The purpose for which the certificate is asked.
    /// - Returns: The request.
    /// - Throws: `invalidInput` for too many names.
    package static func request(
        _ key: borrowing SigningPrivateKey, _ subject: CertificateSubject, _ names: [CertificateName],
        _ purpose: CertificatePurpose
    ) throws(CofferError) -> [UInt8] {
        let extensions = try CertificateExtensions.encoded(purpose, names)
        // extensionRequest, 1.2.840.113549.1.9.14.
        let identifier: [UInt8] = [
            0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x0E,
        ]
        let attribute = DERWriter.element(0x30, identifier + DERWriter.element(0x31, extensions))
        let body =
            [0x02, 0x01, 0x00] + subject.encoded + key.publicKey.subjectPublicKeyInfo
            + DERWriter.element(0xA0, attribute)
        return try signed(DERWriter.element(0x30, body), key)
    }

    /// Returns the sequence of a body, the algorithm and the signature of the body.
    private static func signed(
        _ body: [UInt8], _ key: borrowing SigningPrivateKey
    ) throws(CofferError) -> [UInt8] {
        let publicKey = key.publicKey
        let scheme: SigningScheme =
            publicKey.algorithm == .rsa ? .rsaSHA256 : .standard(for: publicKey.algorithm)
        let raw = try key.sign(body.span, scheme: scheme)
        guard try publicKey.isValid(signature: raw.span, for: body.span, scheme: scheme) else {
            throw CofferError(.corrupt, "The private key does not belong to its public key.")
        }
        let signature =
            switch publicKey.algorithm {
            case .p256: ECDSAP256.der(raw.span) ?? raw
            case .p384: ECDSAP384.der(raw.span) ?? raw
            case .ed25519, .rsa: raw
            }
        return DERWriter.element(
            0x30, body + algorithm(publicKey.algorithm) + DERWriter.element(0x03, [0] + signature))
    }

    /// Returns the identifier of the signature's algorithm.
    private static func algorithm(_ algorithm: SigningAlgorithm) -> [UInt8] {
        let content: [UInt8] =
            switch algorithm {
            case .ed25519: [0x06, 0x03, 0x2B, 0x65, 0x70]
            case .p256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
            case .p384: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
            case .rsa: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B, 0x05, 0x00]
            }
        return DERWriter.element(0x30, content)
    }

    /// Returns a time: with two digits of the year until 2049, and with four from then on.
    private static func time(_ seconds: Int64) throws(CofferError) -> [UInt8] {
        guard let time = CalendarTime(seconds) else {
            throw CofferError(.invalidInput, "The clock shows a year that certificates cannot state.")
        }
        let year = time.year
        let digits = year < 2050 ? CalendarTime.digits(year % 100, 2) : CalendarTime.digits(year, 4)
        return DERWriter.element(year < 2050 ? 0x17 : 0x18, digits + time.rest)
    }
}
