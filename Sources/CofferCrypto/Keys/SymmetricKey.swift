public import CofferBase
import CofferEngine

/// A key for a symmetric algorithm: an owner of guarded memory whose bytes nobody outside this module reads.
///
/// Borrow it to use it. It is cleared when its owner goes; it cannot be copied, compared, printed or encoded.
public struct SymmetricKey: ~Copyable, Sendable {
    let secret: GuardedBytes

    init(_ secret: consuming GuardedBytes) { self.secret = secret }

    /// The key's size in bytes.
    public var count: Int { secret.count }

    /// A new random key of `count` bytes, 32 unless told.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
    public static func random(count: Int = 32) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try GuardedBytes.random(count: count))
    }

    /// A key made of the given bytes; the source is left as it is.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
    public static func copying(_ bytes: Span<UInt8>) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try GuardedBytes.copying(bytes))
    }

    /// A key made of secret bytes, which it takes over.
    public static func adopting(_ bytes: consuming SecretBytes) -> SymmetricKey {
        SymmetricKey(bytes.guarded)
    }

    /// Gives `body` the key's bytes; for keys that a class holds, whose spans cannot be named directly.
    func withSpan<Result: ~Copyable>(
        _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        try body(secret.span)
    }

    /// Whether both are the same key, in time that depends on the sizes alone.
    public func isEqual(to other: borrowing SymmetricKey) -> Bool {
        ConstantTime.equal(secret.span, other.secret.span)
    }
}
