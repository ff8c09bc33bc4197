public import CofferBase
import CofferEngine

/// AES key wrap (RFC 3394, NIST SP 800-38F), which encrypts one key under another without a nonce.
public enum KeyWrap {
    /// The number of bytes by which a wrapped key is longer than the key: 8.
    public static let overhead = KeyWrapBinding.overhead

    /// Wraps `key` under `kek`, a key of 16, 24 or 32 bytes.
    ///
    /// - Throws: `invalidInput` if the size of `key` is not a multiple of 8 from 16 to 4096 bytes, or if
    ///   `kek` is not 16, 24 or 32 bytes long.
    public static func wrap(
        _ key: borrowing SymmetricKey, under kek: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        try KeyWrapBinding.wrap(key.secret.span, under: kek.secret.span)
    }

    /// Unwraps a key that was wrapped under `kek`.
    ///
    /// - Throws: `notAuthentic` unless the key was wrapped under `kek`; `invalidInput` if `kek` is not 16, 24
    ///   or 32 bytes long.
    public static func unwrap(
        _ wrapped: Span<UInt8>, under kek: borrowing SymmetricKey
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try KeyWrapBinding.unwrap(wrapped, under: kek.secret.span))
    }
}
