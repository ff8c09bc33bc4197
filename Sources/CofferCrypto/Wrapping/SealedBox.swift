public import CofferBase
import CofferEngine

/// A message that anyone can seal to a public key and only the holder of the secret key opens (X25519,
/// XSalsa20-Poly1305; libsodium's sealed box). The sender stays anonymous: nothing says who sealed it.
public enum SealedBox {
    /// The size of public and secret keys in bytes.
    public static let keySize = SealedBoxBinding.keySize
    /// How many bytes a sealed box is longer than its message.
    public static let overhead = SealedBoxBinding.overhead

    /// The public key of a 32-byte secret key.
    ///
    /// - Throws: `invalidInput` for a key of another size.
    public static func publicKey(of secretKey: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try SealedBoxBinding.publicKey(secretKey: secretKey.secret.span)
    }

    /// Seals `message`.
    ///
    /// - Throws: `invalidInput` for a public key that is not one.
    public static func seal(_ message: Span<UInt8>, to publicKey: Span<UInt8>) throws(CofferError) -> [UInt8]
    {
        try SealedBoxBinding.seal(message, to: publicKey)
    }

    /// Opens `box`.
    ///
    /// - Throws: `notAuthentic` when it was not sealed to this key.
    public static func open(
        _ box: Span<UInt8>, secretKey: borrowing SymmetricKey
    ) throws(CofferError) -> SecretBytes {
        SecretBytes(try SealedBoxBinding.open(box, secretKey: secretKey.secret.span))
    }
}
