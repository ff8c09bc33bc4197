package import CofferBase
import CSodium

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha), computed by libsodium, with a 32-byte key, a 24-byte nonce
/// and a 16-byte tag.
package enum XChaChaBinding {
    package static let keySize = 32
    package static let nonceSize = 24
    package static let tagSize = 16

    /// Writes the ciphertext and the tag to `output`, which must be exactly 16 bytes longer than `plaintext`.
    package static func seal(
        _ plaintext: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try SodiumLibrary.start()
        try check(key: key, nonce: nonce)
        guard output.count == plaintext.count + tagSize else { throw CofferError.wrongOutputSize }
        let lengths = (UInt64(plaintext.count), UInt64(associatedData.count))
        unsafe output.withPointer { output in
            unsafe plaintext.withPointer { plaintext in
                unsafe associatedData.withPointer { data in
                    unsafe nonce.withPointer { nonce in
                        unsafe key.withPointer { key in
                            _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                                output, nil, plaintext, lengths.0, data, lengths.1, nil, nonce, key)
                        }
                    }
                }
            }
        }
    }

    /// Writes the plaintext to `output` if the tag is valid. Otherwise, clears `output` and throws
    /// `notAuthentic`.
    package static func open(
        _ sealed: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>, associatedData: Span<UInt8>,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try SodiumLibrary.start()
        try check(key: key, nonce: nonce)
        guard sealed.count >= tagSize else {
            output.clear()
            throw CofferError.notAuthentic
        }
        guard output.count == sealed.count - tagSize else { throw CofferError.wrongOutputSize }
        let lengths = (UInt64(sealed.count), UInt64(associatedData.count))
        let status = unsafe output.withPointer { output in
            unsafe sealed.withPointer { sealed in
                unsafe associatedData.withPointer { data in
                    unsafe nonce.withPointer { nonce in
                        unsafe key.withPointer { key in
                            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                                output, nil, nil, sealed, lengths.0, data, lengths.1, nonce, key)
                        }
                    }
                }
            }
        }
        guard status == 0 else {
            output.clear()
            throw CofferError.notAuthentic
        }
    }

    private static func check(key: Span<UInt8>, nonce: Span<UInt8>) throws(CofferError) {
        guard key.count == keySize else { throw CofferError.wrongKeySize(key.count) }
        guard nonce.count == nonceSize else { throw CofferError.wrongNonceSize(nonce.count) }
    }
}
