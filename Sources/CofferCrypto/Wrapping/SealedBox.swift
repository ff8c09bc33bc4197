public import CofferBase
import CofferEngine

/// Anonymous public-key encryption: anyone can seal a message to a public key, and only the holder of the
/// secret key can open it (X25519 and XSalsa20-Poly1305, libsodium's sealed box). The box does not identify
/// the sender.
public enum SealedBox {
    /// The size in bytes of a public key and of a secret key.
    public static let keySize = SealedBoxBinding.keySize
    /// The number of bytes by which a sealed box is longer than its message.
    public static let overhead = SealedBoxBinding.overhead

    /// Returns the public key for a 32-byte secret key.
    ///
    /// - Throws: `invalidInput` if the secret key is not 32 bytes long.
    public static func publicKey(of secretKey: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try SealedBoxBinding.publicKey(secretKey: secretKey.secret.span)
    }

    /// Seals `message` to the holder of the secret key for `publicKey`.
    ///
    /// - Throws: `invalidInput` if the public key is invalid.
    public static func seal(_ message: Span<UInt8>, to publicKey: Span<UInt8>) throws(CofferError) -> [UInt8]
    {
        try SealedBoxBinding.seal(message, to: publicKey)
    }

    /// Opens `box` with a secret key and returns the message in guarded memory.
    ///
    /// - Throws: `notAuthentic` unless the box was sealed to the public key for `secretKey`.
    public static func open(
        _ box: Span<UInt8>, secretKey: borrowing SymmetricKey
    ) throws(CofferError) -> SecretBytes {
        SecretBytes(try SealedBoxBinding.open(box, secretKey: secretKey.secret.span))
    }
}
