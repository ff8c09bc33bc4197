package import CofferBase

/// The private key of a client certificate, as OpenSSL holds it for the time of one connection.
///
/// It is made of the key's numbers. OpenSSL's decoders, which read a file, free their buffers without
/// clearing them.
package final class TLSClientKey {
    /// How the bytes of a private key are to be read.
    package enum Form: Sendable {
        /// The private number of a key for P-256.
        case p256
        /// A buffer with the numbers of an RSA key at these places.
        case rsa(RSABinding.Numbers)
    }

    let key: SignatureKey

    private init(_ key: SignatureKey) { self.key = key }

    /// The address of the `EVP_PKEY`, which is valid as long as this object.
    package var address: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(key.pointer) }

    /// Returns the key in `bytes`.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key of this form; `outOfMemory` if no guarded
    ///   memory is available.
    package static func make(_ form: Form, _ bytes: Span<UInt8>) throws(CofferError) -> TLSClientKey {
        switch form {
        case .p256: return TLSClientKey(try ECDSABinding.keyPair(bytes))
        case .rsa(let numbers): return TLSClientKey(try RSABinding.keyPair(bytes, numbers))
        }
    }
}
