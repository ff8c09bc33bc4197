package import CofferBase
import COpenSSL

/// A certificate that OpenSSL has read.
@safe package final class X509Certificate {
    /// The security in bits that OpenSSL estimates for SHA-256 signatures. SHA-1 has 63.
    private static let leastSignatureBits: Int32 = 128
    /// The security in bits of RSA with 2048 bits. P-256 and Ed25519 have more.
    private static let leastKeyBits: Int32 = 112
    /// The value of `EXFLAG_INVALID`: an extension occurs twice or cannot be read.
    private static let invalidExtensions: UInt32 = 0x80
    /// The value of `EXFLAG_CRITICAL`: a critical extension is not among those that OpenSSL supports.
    private static let unknownCriticalExtension: UInt32 = 0x200

    /// Whether OpenSSL finds the hash functions of signatures by number, as it does only for certificates. A
    /// program that called ``OpenSSLAlgorithm/startWithoutTables()`` has no table of them.
    private static let hasDigests = unsafe [EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()]
        .allSatisfy { unsafe EVP_add_digest($0) == 1 }

    private let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    /// Reads one certificate.
    ///
    /// - Parameter der: The certificate, and nothing after it.
    /// - Returns: The certificate; `nil` if the bytes are anything else, or a certificate that is not encoded
    ///   in DER, or whose public key or extensions cannot be read.
    package static func read(_ der: Span<UInt8>) -> X509Certificate? {
        OpenSSLAlgorithm.keepEverythingAtExit()
        defer { ERR_clear_error() }
        guard hasDigests else { return nil }
        let size = der.count
        let found = unsafe der.withPointer { (start) -> X509Certificate? in
            var place: UnsafePointer<UInt8>? = unsafe start
            guard let read = unsafe d2i_X509(nil, &place, size) else { return nil }
            let certificate = unsafe X509Certificate(read)
            return unsafe place == start + size ? certificate : nil
        }
        guard let found, found.isEncoded(as: der), unsafe X509_get0_pubkey(found.pointer) != nil else {
            return nil
        }
        guard unsafe X509_check_purpose(found.pointer, -1, 0) == 1,
            unsafe X509_get_extension_flags(found.pointer) & invalidExtensions == 0
        else { return nil }
        return found
    }

    /// Whether the certificate is written as these bytes, so that nothing in them was passed over.
    private func isEncoded(as der: Span<UInt8>) -> Bool {
        let size = unsafe i2d_X509(pointer, nil)
        guard size == der.count else { return false }
        var bytes = [UInt8](repeating: 0, count: der.count)
        var span = bytes.mutableSpan
        let written = unsafe span.withPointer { (start) -> Int32 in
            var place: UnsafeMutablePointer<UInt8>? = unsafe start
            return unsafe i2d_X509(pointer, &place)
        }
        return written == size && der.indices.allSatisfy { der[$0] == bytes[$0] }
    }

    /// Returns whether the certificate's public key is the one in a SubjectPublicKeyInfo.
    package func hasPublicKey(_ info: Span<UInt8>) -> Bool {
        defer { ERR_clear_error() }
        let size = info.count
        let key = unsafe info.withPointer { (start) -> OpaquePointer? in
            var place: UnsafePointer<UInt8>? = unsafe start
            return unsafe d2i_PUBKEY(nil, &place, size)
        }
        guard let key = unsafe key else { return false }
        defer { unsafe EVP_PKEY_free(key) }
        return unsafe EVP_PKEY_eq(X509_get0_pubkey(pointer), key) == 1
    }

    /// Whether the certificate has a critical extension that OpenSSL does not support. A program that
    /// checks the certificate must refuse it then (RFC 5280, section 4.2).
    package var hasUnknownCriticalExtension: Bool {
        unsafe X509_get_extension_flags(pointer) & Self.unknownCriticalExtension != 0
    }

    /// Whether the certificate's own key is at least as strong as RSA with 2048 bits.
    package var hasStrongKey: Bool {
        defer { ERR_clear_error() }
        return unsafe EVP_PKEY_get_security_bits(X509_get0_pubkey(pointer)) >= Self.leastKeyBits
    }

    /// Whether the certificate was signed with SHA-256 or a hash function that is at least as strong.
    package var hasStrongSignature: Bool {
        defer { ERR_clear_error() }
        var bits: Int32 = 0
        let isKnown = unsafe X509_get_signature_info(pointer, nil, nil, &bits, nil) == 1
        return isKnown && bits >= Self.leastSignatureBits
    }

    /// Returns whether another certificate is that of an authority that issued and signed this one: names,
    /// key identifiers, key usage, basic constraints and the signature.
    package func isIssued(by issuer: X509Certificate) -> Bool {
        defer { ERR_clear_error() }
        guard unsafe X509_check_issued(issuer.pointer, pointer) == 0,
            unsafe X509_check_ca(issuer.pointer) > 0
        else { return false }
        return unsafe X509_verify(pointer, X509_get0_pubkey(issuer.pointer)) == 1
    }

    /// Whether the certificate names its owner as its issuer, and its own key did not sign it.
    ///
    /// `X509_self_signed` does not tell: with a changed key identifier, it takes a certificate for one that
    /// another key of the same owner signed.
    package var isWronglySelfSigned: Bool {
        defer { ERR_clear_error() }
        guard
            unsafe X509_NAME_cmp(X509_get_subject_name(pointer), X509_get_issuer_name(pointer)) == 0
        else { return false }
        return unsafe X509_verify(pointer, X509_get0_pubkey(pointer)) != 1
    }

    /// Returns the certificate's contents.
    ///
    /// - Throws: `invalidInput` if a time in it cannot be read; `outOfMemory`.
    package func fields() throws(CofferError) -> CertificateFields {
        defer { ERR_clear_error() }
        guard let subject = unsafe X509_get_subject_name(pointer),
            let issuer = unsafe X509_get_issuer_name(pointer)
        else { throw OpenSSLFailure.unexpected("X509_get_subject_name") }
        return CertificateFields(
            subject: unsafe try CertificateContents.name(subject),
            issuer: unsafe try CertificateContents.name(issuer),
            serial: try serial(),
            notBefore: unsafe try CertificateContents.seconds(X509_get0_notBefore(pointer)),
            notAfter: unsafe try CertificateContents.seconds(X509_get0_notAfter(pointer)),
            names: unsafe try CertificateContents.alternativeNames(of: pointer),
            isSelfIssued: unsafe X509_NAME_cmp(subject, issuer) == 0)
    }

    private func serial() throws(CofferError) -> [UInt8] {
        guard let number = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(pointer), nil) else {
            throw OpenSSLFailure.unexpected("ASN1_INTEGER_to_BN")
        }
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: unsafe Int(BN_num_bits(number) + 7) / 8)
        guard !bytes.isEmpty else { return [0] }
        unsafe BN_bn2bin(number, &bytes)
        return bytes
    }
}
