package import CofferBase
import COpenSSL

/// Certificates in PEM, as OpenSSL reads them.
package enum CertificateBinding {
    /// The owner of an `X509`.
    @safe private final class Certificate {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

        deinit { unsafe X509_free(pointer) }
    }

    /// OpenSSL's error at the end of a file: no more text that begins like PEM. It is a macro of macros.
    private static let endOfFile: UInt = 9 << 23 | 108

    private static let keyMark = Array("PRIVATE KEY-----".utf8)

    /// Returns the SHA-256 digests of the certificates in a file, in the file's order.
    ///
    /// - Parameter pem: The contents of the file. Text between the certificates is allowed.
    /// - Returns: The digests of the certificates in DER; at least one.
    /// - Throws: `invalidInput` if the file contains no certificate, a damaged one or a private key.
    package static func digests(_ pem: Span<UInt8>) throws(CofferError) -> [[UInt8]] {
        var digests: [[UInt8]] = []
        for certificate in try certificates(pem) {
            var digest = [UInt8](repeating: 0, count: 32)
            var span = digest.mutableSpan
            let isDone = unsafe span.withPointer { output in
                unsafe X509_digest(certificate.pointer, EVP_sha256(), output, nil) == 1
            }
            guard isDone else { throw OpenSSLFailure.unexpected("X509_digest") }
            digests.append(digest)
        }
        return digests
    }

    /// Returns whether a private key is that of the first certificate in a file.
    ///
    /// - Parameters:
    ///   - pem: The contents of the file.
    ///   - key: The private key.
    /// - Returns: Whether both have the same public key.
    /// - Throws: `invalidInput` if the file contains no certificate, a damaged one or a private key.
    package static func isFirst(_ pem: Span<UInt8>, of key: TLSClientKey) throws(CofferError) -> Bool {
        let all = try certificates(pem)
        defer { withExtendedLifetime((all, key)) {} }
        guard let publicKey = unsafe X509_get0_pubkey(all[0].pointer) else {
            ERR_clear_error()
            return false
        }
        let isEqual = unsafe EVP_PKEY_eq(publicKey, key.key.pointer) == 1
        ERR_clear_error()
        return isEqual
    }

    private static func certificates(_ pem: Span<UInt8>) throws(CofferError) -> [Certificate] {
        // OpenSSL would pass over the key, and it would be stored among what is not secret.
        guard !hasPrivateKey(pem) else {
            throw CofferError(.invalidInput, "The file contains a private key in place of a certificate.")
        }
        guard let found = read(pem) else {
            throw CofferError(
                .invalidInput, "The file is not certificates in PEM (BEGIN CERTIFICATE), or is damaged.")
        }
        return found
    }

    private static func hasPrivateKey(_ pem: Span<UInt8>) -> Bool {
        let mark = keyMark
        guard pem.count >= mark.count else { return false }
        for start in 0...pem.count - mark.count where pem[start] == mark[0] {
            if mark.indices.allSatisfy({ pem[start + $0] == mark[$0] }) { return true }
        }
        return false
    }

    /// Returns the certificates; `nil` if there is none or one that cannot be read.
    private static func read(_ pem: Span<UInt8>) -> [Certificate]? {
        guard let count = Int32(exactly: pem.count) else { return nil }
        return unsafe pem.withPointer { (start) -> [Certificate]? in
            guard let file = unsafe BIO_new_mem_buf(start, count) else { return nil }
            defer { unsafe BIO_free(file) }
            ERR_clear_error()
            var found: [Certificate] = []
            // Without a closure for the passphrase, OpenSSL would ask for one on the terminal.
            while let next = unsafe PEM_read_bio_X509(file, nil, { _, _, _, _ in 0 }, nil) {
                found.append(unsafe Certificate(next))
            }
            let isAtEnd = ERR_peek_last_error() == endOfFile
            ERR_clear_error()
            return isAtEnd && !found.isEmpty ? found : nil
        }
    }
}
