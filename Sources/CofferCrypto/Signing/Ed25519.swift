public import CofferBase
import CofferEngine

/// Ed25519 signatures (RFC 8032), with 32-byte seeds, 32-byte public keys and 64-byte signatures.
public enum Ed25519 {
    /// The size in bytes of a seed and of a public key.
    public static let keySize = Ed25519Binding.seedSize
    /// The size in bytes of a signature.
    public static let signatureSize = Ed25519Binding.signatureSize

    /// Returns the public key for `seed`.
    ///
    /// - Throws: `invalidInput` if the seed is not 32 bytes long.
    public static func publicKey(seed: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try Ed25519Binding.publicKey(seed: seed.secret.span)
    }

    /// Returns the signature of `message` under the secret key with the seed `seed`.
    ///
    /// - Throws: `invalidInput` if the seed is not 32 bytes long.
    public static func sign(_ message: Span<UInt8>, seed: borrowing SymmetricKey) throws(CofferError)
        -> [UInt8]
    {
        try Ed25519Binding.sign(message, seed: seed.secret.span)
    }

    /// Returns whether `signature` is valid for `message` under `publicKey`. A signature or a public key of
    /// the wrong size is not valid.
    ///
    /// - Throws: `internalFailure` if the underlying library cannot be initialised.
    public static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: Span<UInt8>
    ) throws(CofferError) -> Bool {
        try Ed25519Binding.isValid(signature: signature, for: message, publicKey: publicKey)
    }
}
