public import CofferBase
import CofferCrypto

/// The public Ed25519 key of an administrator who may send signed commands to a vault, such as one to wipe
/// it.
public struct AdministratorKey: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the public key.
    public let bytes: [UInt8]

    /// Creates a key from its bytes.
    ///
    /// - Throws: `invalidInput` unless there are exactly 32 bytes.
    public init(_ bytes: [UInt8]) throws(CofferError) {
        guard bytes.count == Ed25519.keySize else {
            throw CofferError(
                .invalidInput, "A public key must be \(Ed25519.keySize) bytes long, not \(bytes.count).")
        }
        self.bytes = bytes
    }

    /// Creates a key from 64 hexadecimal digits.
    ///
    /// - Throws: `invalidInput` for anything else.
    public init(hex text: String) throws(CofferError) {
        guard let bytes = HexText.decode(text), bytes.count == Ed25519.keySize else {
            throw CofferError(
                .invalidInput, "A public key must be \(2 * Ed25519.keySize) hexadecimal digits.")
        }
        self.bytes = bytes
    }

    /// Derives the public key from a private key, which is a seed of 32 bytes.
    ///
    /// - Throws: `invalidInput` for a seed of another size.
    public init(of seed: borrowing SymmetricKey) throws(CofferError) {
        bytes = try Ed25519.publicKey(seed: seed)
    }

    /// The key as 64 hexadecimal digits.
    public var description: String { HexText.encode(bytes) }
}
