public import CofferBase
import CofferEngine

/// ECDSA signatures over P-256 with SHA-256 (FIPS 186-5), which JOSE calls ES256.
///
/// A private key is a number of 32 bytes. A public key is an uncompressed point of 65 bytes, the first of
/// which is 4. A signature is the numbers r and s with 32 bytes each.
public enum ECDSAP256 {
    /// The size in bytes of a private key.
    public static let privateKeySize = ECDSACurve.p256.privateKeySize
    /// The size in bytes of a public key.
    public static let publicKeySize = ECDSACurve.p256.publicKeySize
    /// The size in bytes of a signature.
    public static let signatureSize = ECDSACurve.p256.signatureSize

    /// Returns a new private key.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func generate() throws(CofferError) -> SecretBytes {
        SecretBytes(try ECDSABinding.generate())
    }

    /// Returns the private key in a PKCS #8 file.
    ///
    /// - Parameter file: The contents of the file, in PEM or DER, not encrypted.
    /// - Returns: The private key.
    /// - Throws: `invalidInput` if the file does not contain a private key for P-256, or contains the public
    ///   key of another one.
    public static func privateKey(importing file: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        let inner = try PrivateKeyInfo.key(.p256, in: file.guarded.span)
        return SecretBytes(try ECPrivateKey.number(inner.span, .p256))
    }

    /// Returns the public key that belongs to `privateKey`.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key.
    public static func publicKey(privateKey: borrowing SecretBytes) throws(CofferError) -> [UInt8] {
        try ECDSABinding.publicKey(privateKey: privateKey.guarded.span)
    }

    /// Returns whether the bytes are an uncompressed point of the curve.
    public static func isPublicKey(_ bytes: Span<UInt8>) -> Bool { ECDSABinding.isPublicKey(bytes) }

    /// Returns a signature of `message`, which differs each time.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key.
    public static func sign(
        _ message: Span<UInt8>, privateKey: borrowing SecretBytes
    ) throws(CofferError) -> [UInt8] {
        try ECDSABinding.sign(message, privateKey: privateKey.guarded.span)
    }

    /// Returns whether `signature` is valid for `message` under `publicKey`. A signature of the wrong size is
    /// not valid, and neither is any signature under a public key that is not an uncompressed point.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public static func isValid(
        signature: Span<UInt8>, for message: Span<UInt8>, publicKey: Span<UInt8>
    ) throws(CofferError) -> Bool {
        try ECDSABinding.isValid(signature: signature, for: message, publicKey: publicKey)
    }

    /// Returns the DER form of a signature, as X.509 uses it; `nil` if `signature` is not 64 bytes long.
    public static func der(_ signature: Span<UInt8>) -> [UInt8]? { ECDSASignatureEncoding.der(signature) }

    /// Returns the signature in `der`; `nil` for anything but the only DER encoding of two numbers of at most
    /// 256 bits.
    public static func signature(der: Span<UInt8>) -> [UInt8]? { ECDSASignatureEncoding.raw(der) }
}
