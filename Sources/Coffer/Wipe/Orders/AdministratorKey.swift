public import CofferBase
import CofferCrypto

/// The public Ed25519 key of somebody who may order a vault to be wiped.
public struct AdministratorKey: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the public key.
    public let bytes: [UInt8]

    /// A key of these bytes.
    ///
    /// - Throws: `invalidInput` unless there are 32.
    public init(_ bytes: [UInt8]) throws(CofferError) {
        guard bytes.count == Ed25519.keySize else {
            throw CofferError(.invalidInput, "A public key has \(Ed25519.keySize) bytes, not \(bytes.count).")
        }
        self.bytes = bytes
    }

    /// A key given as 64 hexadecimal digits.
    ///
    /// - Throws: `invalidInput` for anything else.
    public init(hex text: String) throws(CofferError) {
        guard let bytes = HexText.decode(text), bytes.count == Ed25519.keySize else {
            throw CofferError(.invalidInput, "A public key is \(2 * Ed25519.keySize) hexadecimal digits.")
        }
        self.bytes = bytes
    }

    /// The public key that belongs to a private one, which is a seed of 32 bytes.
    ///
    /// - Throws: `invalidInput` for a seed of another size.
    public init(of seed: borrowing SymmetricKey) throws(CofferError) {
        bytes = try Ed25519.publicKey(seed: seed)
    }

    /// 64 hexadecimal digits.
    public var description: String { HexText.encode(bytes) }
}
