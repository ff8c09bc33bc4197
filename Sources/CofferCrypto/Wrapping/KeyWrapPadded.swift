public import CofferBase
import CofferEngine

/// AES key wrap with padding (RFC 5649, NIST SP 800-38F), which encrypts a key of any size up to 4096 bytes.
///
/// The size of the wrapped key is the key's size rounded up to a multiple of 8, plus 8 bytes. Wrapping is
/// deterministic: the same key under the same wrapping key always produces the same bytes.
public enum KeyWrapPadded {
    /// Wraps `key`, which has 1 to 4096 bytes, under `kek`, a key of 16, 24 or 32 bytes.
    ///
    /// - Throws: `invalidInput` if either key has another size.
    public static func wrap(
        _ key: borrowing SymmetricKey, under kek: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        try KeyWrapBinding.wrapPadded(key.secret.span, under: kek.secret.span)
    }

    /// Unwraps a key that was wrapped under `kek`.
    ///
    /// - Throws: `notAuthentic` unless the key was wrapped under `kek`; `invalidInput` if `kek` is not 16, 24
    ///   or 32 bytes long.
    public static func unwrap(
        _ wrapped: Span<UInt8>, under kek: borrowing SymmetricKey
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try KeyWrapBinding.unwrapPadded(wrapped, under: kek.secret.span))
    }
}
