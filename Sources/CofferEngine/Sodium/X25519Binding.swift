package import CofferBase
import CSodium

/// X25519 (RFC 7748), computed by libsodium: a key exchange with 32-byte keys.
package enum X25519Binding {
    package static let keySize = Int(crypto_scalarmult_BYTES)
    /// The stack depth of the library's calls, in bytes, including a margin.
    private static let stackDepth = 16384

    /// Returns the public key that belongs to `secretKey`.
    package static func publicKey(secretKey: Span<UInt8>) throws(CofferError) -> [UInt8] {
        try SodiumLibrary.start()
        guard secretKey.count == keySize else { throw CofferError.wrongKeySize(secretKey.count) }
        var publicKey = [UInt8](repeating: 0, count: keySize)
        unsafe secretKey.withPointer {
            _ = unsafe crypto_scalarmult_base(&publicKey, $0)
        }
        sodium_stackzero(stackDepth)
        return publicKey
    }

    /// Returns the secret that `secretKey` shares with the holder of the secret key for `publicKey`. Throws
    /// `invalidInput` for a public key of low order, with which every secret key shares the same secret.
    package static func sharedSecret(
        secretKey: Span<UInt8>, publicKey: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        try SodiumLibrary.start()
        guard secretKey.count == keySize else { throw CofferError.wrongKeySize(secretKey.count) }
        guard publicKey.count == keySize else { throw CofferError.wrongKeySize(publicKey.count) }
        return try GuardedBytes.filled(count: keySize) { (shared) throws(CofferError) in
            let status = unsafe shared.withPointer { shared in
                unsafe secretKey.withPointer { secretKey in
                    unsafe publicKey.withPointer { unsafe crypto_scalarmult(shared, secretKey, $0) }
                }
            }
            sodium_stackzero(stackDepth)
            guard status == 0 else {
                throw CofferError(.invalidInput, "The public key is not a valid X25519 key.")
            }
        }
    }
}
