package import CofferBase
import CSodium

/// Anonymous public-key encryption with libsodium's `crypto_box_seal` (X25519, XSalsa20-Poly1305).
package enum SealedBoxBinding {
    package static let keySize = Int(crypto_box_SEEDBYTES)
    /// The number of bytes that a sealed box adds to its message.
    package static let overhead = Int(crypto_box_PUBLICKEYBYTES + crypto_box_MACBYTES)
    /// The stack depth of the library's calls, in bytes, including a margin.
    private static let stackDepth = 16384

    /// Returns the public key that belongs to `secretKey`.
    package static func publicKey(secretKey: Span<UInt8>) throws(CofferError) -> [UInt8] {
        try X25519Binding.publicKey(secretKey: secretKey)
    }

    /// Seals `message` so that only the holder of the secret key can open it.
    package static func seal(_ message: Span<UInt8>, to publicKey: Span<UInt8>) throws(CofferError) -> [UInt8]
    {
        try SodiumLibrary.start()
        guard publicKey.count == keySize else { throw CofferError.wrongKeySize(publicKey.count) }
        var box = [UInt8](repeating: 0, count: message.count + overhead)
        let status = unsafe message.withPointer { bytes in
            unsafe publicKey.withPointer { key in
                unsafe crypto_box_seal(&box, bytes, UInt64(message.count), key)
            }
        }
        guard status == 0 else {
            throw CofferError(.invalidInput, "The public key is not a valid X25519 key.")
        }
        return box
    }

    /// Opens a sealed box. Throws `notAuthentic` if the box is damaged or was sealed for another key.
    package static func open(_ box: Span<UInt8>, secretKey: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        guard box.count >= overhead else { throw CofferError.notAuthentic }
        let publicKey = try publicKey(secretKey: secretKey)
        return try GuardedBytes.filled(count: box.count - overhead) { (message) throws(CofferError) in
            let status = unsafe message.withPointer { message in
                unsafe box.withPointer { sealed in
                    unsafe secretKey.withPointer { key in
                        unsafe crypto_box_seal_open(message, sealed, UInt64(box.count), publicKey, key)
                    }
                }
            }
            // The library leaves the first 32 bytes of the message in a block on the stack.
            sodium_stackzero(stackDepth)
            guard status == 0 else { throw CofferError.notAuthentic }
        }
    }
}
