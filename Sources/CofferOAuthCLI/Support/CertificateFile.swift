import CofferBase
import CofferCrypto

/// Files with certificates that the user names.
enum CertificateFile {
    /// Returns the SHA-256 digests of the certificates in a file.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - option: The option that named the file, for the message.
    /// - Returns: The digests, of which there is at least one.
    /// - Throws: `invalidInput` if the file contains no certificate, a damaged one or a private key.
    static func digests(of bytes: [UInt8], option: String) throws(CofferError) -> [[UInt8]] {
        do throws(CofferError) {
            return try Certificates.digests(of: bytes)
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw CofferError(.invalidInput, "The file of \(option) cannot be used. \(error.message)")
        }
    }
}
