package import CofferBase
import CofferEngine

/// Certificates in PEM, which are checked when somebody gives them.
package enum Certificates {
    /// Returns the SHA-256 digests of the certificates in a file, in the file's order.
    ///
    /// - Parameter pem: The contents of the file.
    /// - Returns: The digests of the certificates in DER; at least one.
    /// - Throws: `invalidInput` if the file contains no certificate, a damaged one or a private key.
    package static func digests(of pem: [UInt8]) throws(CofferError) -> [[UInt8]] {
        try CertificateBinding.digests(pem.span)
    }

    /// Checks that a private key is that of the first certificate of a chain.
    ///
    /// - Parameters:
    ///   - chain: The certificates in PEM.
    ///   - file: The private key in a PKCS #8 file.
    /// - Throws: `invalidInput` if they do not belong together, or if one of them is not what it must be.
    package static func check(
        _ chain: [UInt8], belongsTo file: borrowing SecretBytes
    ) throws(CofferError) {
        _ = try digests(of: chain)
        let key = try CertificateKey.importing(file)
        let form = key.form
        let isOwn = try key.secret.exposing { (bytes) throws(CofferError) -> Bool in
            try CertificateBinding.isFirst(chain.span, of: try TLSClientKey.make(form, bytes))
        }
        guard isOwn else {
            throw CofferError(
                .invalidInput,
                "The private key does not belong to the first certificate. Give the key of this certificate.")
        }
    }
}
