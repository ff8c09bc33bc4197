package import CofferBase
import CSodium

/// Ed25519 (RFC 8032), computed by libsodium, with a 32-byte seed, a 32-byte public key and a 64-byte
/// signature.
package enum Ed25519Binding {
    package static let seedSize = 32
    package static let publicKeySize = 32
    package static let signatureSize = 64

    /// Returns the public key that belongs to `seed`.
    package static func publicKey(seed: Span<UInt8>) throws(CofferError) -> [UInt8] {
        try expand(seed) { publicKey, _ in publicKey.copied() }
    }

    /// Returns the signature for `message` under the key derived from `seed`.
    package static func sign(_ message: Span<UInt8>, seed: Span<UInt8>) throws(CofferError) -> [UInt8] {
        try expand(seed) { _, secretKey in
            var signature = [UInt8](repeating: 0, count: signatureSize)
            unsafe message.withPointer { bytes in
                unsafe secretKey.withPointer { key in
                    _ = unsafe crypto_sign_ed25519_detached(
                        &signature, nil, bytes, UInt64(message.count), key)
                }
            }
            return signature
        }
    }

    /// Reports whether `signature` is valid for `message`. Returns `false` if the key or the signature has
    /// the wrong size.
    package static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: Span<UInt8>
    ) throws(CofferError) -> Bool {
        try SodiumLibrary.start()
        guard signature.count == signatureSize, publicKey.count == publicKeySize else { return false }
        return unsafe signature.withPointer { signature in
            unsafe message.withPointer { bytes in
                unsafe publicKey.withPointer { key in
                    unsafe crypto_sign_ed25519_verify_detached(signature, bytes, UInt64(message.count), key)
                        == 0
                }
            }
        }
    }

    private static func expand<R>(
        _ seed: Span<UInt8>, _ body: (_ publicKey: Span<UInt8>, _ secretKey: Span<UInt8>) -> R
    ) throws(CofferError) -> R {
        try SodiumLibrary.start()
        guard seed.count == seedSize else { throw CofferError.wrongKeySize(seed.count) }
        var publicKey = [UInt8](repeating: 0, count: publicKeySize)
        let secretKey = try GuardedStorage.make(count: Int(crypto_sign_ed25519_SECRETKEYBYTES))
        unsafe seed.withPointer {
            _ = unsafe crypto_sign_ed25519_seed_keypair(&publicKey, secretKey.start, $0)
        }
        return body(publicKey.span, unsafe Span(_unsafeStart: secretKey.start, count: secretKey.count))
    }
}
