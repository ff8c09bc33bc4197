public import CofferBase
import CofferCrypto

/// An administrator's public Ed25519 key, with which a vault verifies the administrator's signed commands,
/// such as a command to wipe the vault.
public struct AdministratorKey: Sendable, Hashable, CustomStringConvertible {
    /// The public key's 32 bytes.
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
    /// - Throws: `invalidInput` if the text does not consist of exactly 64 hexadecimal digits.
    public init(hex text: String) throws(CofferError) {
        guard let bytes = HexText.decode(text), bytes.count == Ed25519.keySize else {
            throw CofferError(
                .invalidInput, "A public key must consist of \(2 * Ed25519.keySize) hexadecimal digits.")
        }
        self.bytes = bytes
    }

    /// Creates the public key that belongs to a private key, which is a 32-byte seed.
    ///
    /// - Throws: `invalidInput` if the seed has another size.
    public init(of seed: borrowing SymmetricKey) throws(CofferError) {
        bytes = try Ed25519.publicKey(seed: seed)
    }

    /// The key as 64 hexadecimal digits.
    public var description: String { HexText.encode(bytes) }
}
