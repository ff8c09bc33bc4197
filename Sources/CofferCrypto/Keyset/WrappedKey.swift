public import CofferBase
import CofferEngine

/// A 32-byte key sealed under another key for storage, with a header that identifies the sealed key.
///
/// The encoded form has exactly ``encodedSize`` bytes: algorithm (1: XChaCha20-Poly1305), 3 zero bytes,
/// generation (4 bytes, big-endian), id (16), nonce ‖ ciphertext ‖ tag (72). The seal covers the algorithm,
/// the generation, the id and the caller's context, so a wrapped key cannot be moved to another context.
public struct WrappedKey: Sendable, Equatable {
    /// The size of the encoded form in bytes.
    public static let encodedSize = 96
    private static let headerSize = 24
    private static let algorithm: UInt8 = 1

    /// The key's 16-byte identifier.
    public let id: [UInt8]
    /// The generation, which increases when the key is replaced.
    public let generation: UInt32
    private let sealed: [UInt8]

    private init(id: [UInt8], generation: UInt32, sealed: [UInt8]) {
        self.id = id
        self.generation = generation
        self.sealed = sealed
    }

    /// Wraps `key` under `kek`.
    ///
    /// - Parameters:
    ///   - key: A key of 32 bytes.
    ///   - kek: The key-encryption key, 32 bytes.
    ///   - id: The 16-byte identifier; `nil` for a new random identifier.
    ///   - generation: The generation, at least 1.
    ///   - context: The key's owner and purpose, such as a vault and a protection class.
    /// - Returns: The wrapped key.
    /// - Throws: `invalidInput` if a key or the identifier has the wrong size, or if `generation` is 0.
    public static func wrap(
        _ key: borrowing SymmetricKey, under kek: borrowing SymmetricKey, id: [UInt8]? = nil,
        generation: UInt32 = 1,
        context: Span<UInt8>
    ) throws(CofferError) -> WrappedKey {
        guard key.count == 32 else { throw CofferError.wrongKeySize(key.count) }
        let id = if let id { id } else { try SecureRandom.bytes(16) }
        guard generation >= 1 else {
            throw CofferError(.invalidInput, "A key's generation number must be at least 1.")
        }
        guard id.count == 16 else {
            throw CofferError(.invalidInput, "A key identifier must be 16 bytes long.")
        }
        var aead = try AEAD.prepare(.xChaCha20Poly1305, key: kek)
        let data = header(id: id, generation: generation) + context.copied()
        return WrappedKey(
            id: id, generation: generation, sealed: try aead.seal(key.secret.span, associatedData: data.span))
    }

    /// Returns the unwrapped key in guarded memory.
    ///
    /// - Throws: `notAuthentic` unless the key was wrapped under `kek` with this context; `invalidInput` if
    ///   `kek` is not 32 bytes long.
    public func unwrap(
        under kek: borrowing SymmetricKey, context: Span<UInt8>
    ) throws(CofferError) -> SymmetricKey {
        var aead = try AEAD.prepare(.xChaCha20Poly1305, key: kek)
        let data = Self.header(id: id, generation: generation) + context.copied()
        return SymmetricKey.adopting(try aead.open(sealed.span, associatedData: data.span))
    }

    /// The wrapped key in its encoded form.
    public var encoded: [UInt8] { Self.header(id: id, generation: generation) + sealed }

    /// Decodes a wrapped key from its encoded form.
    ///
    /// - Throws: `corrupt` if `bytes` has the wrong size or an invalid header; `unsupportedVersion` if the
    ///   algorithm is unknown.
    public static func decode(_ bytes: Span<UInt8>) throws(CofferError) -> WrappedKey {
        guard bytes.count == encodedSize else {
            throw CofferError(
                .corrupt, "A wrapped key must be \(encodedSize) bytes long, not \(bytes.count).")
        }
        guard bytes[0] == algorithm else {
            throw CofferError(
                .unsupportedVersion,
                "A key is wrapped with an algorithm that is not supported by this release. Use a newer "
                    + "release.")
        }
        guard bytes[1] | bytes[2] | bytes[3] == 0, bytes.bigEndian(UInt32.self, at: 4) >= 1 else {
            throw CofferError(.corrupt, "A wrapped key is damaged.")
        }
        return WrappedKey(
            id: bytes.extracting(8..<headerSize).copied(), generation: bytes.bigEndian(UInt32.self, at: 4),
            sealed: bytes.extracting(headerSize...).copied())
    }

    private static func header(id: [UInt8], generation: UInt32) -> [UInt8] {
        [algorithm, 0, 0, 0] + generation.bigEndianBytes + id
    }
}
