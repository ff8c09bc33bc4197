package import CofferBase
package import CofferEngine

/// The private key of a client certificate, in the form in which the engine takes it.
package struct CertificateKey: ~Copyable, Sendable {
    /// How the bytes are to be read.
    package let form: TLSClientKey.Form
    /// The key's bytes.
    package let secret: SecretBytes

    private init(_ form: TLSClientKey.Form, _ secret: consuming SecretBytes) {
        self.form = form
        self.secret = secret
    }

    /// Returns the key in a PKCS #8 file.
    ///
    /// - Parameter file: The contents of the file, in PEM or DER, not encrypted.
    /// - Returns: The key.
    /// - Throws: `invalidInput` if the file contains neither a private key for P-256 nor one for RSA.
    package static func importing(_ file: borrowing SecretBytes) throws(CofferError) -> CertificateKey {
        do throws(CofferError) {
            return CertificateKey(.p256, try ECDSAP256.privateKey(importing: file))
        } catch {
            guard error.code == .invalidInput else { throw error }
        }
        do throws(CofferError) {
            let secret = try RSASignature.privateKey(importing: file)
            let numbers = try RSASignature.numbers(of: secret)
            return CertificateKey(.rsa(numbers), secret)
        } catch {
            guard error.code == .invalidInput else { throw error }
        }
        throw CofferError(
            .invalidInput,
            "The key of the client certificate must be an unencrypted PKCS #8 file (BEGIN PRIVATE KEY) "
                + "with a key for P-256 or for RSA with 2048 to 8192 bits.", remedy: .convertKey)
    }
}
