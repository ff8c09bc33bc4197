public import CofferBase
import CofferEngine

/// A key for a symmetric algorithm, in guarded memory. Code outside this package cannot read the key's bytes.
///
/// Operations borrow the key. The key is cleared when its owner is destroyed; it cannot be copied, compared
/// with `==`, printed or encoded.
public struct SymmetricKey: ~Copyable, Sendable {
    let secret: GuardedBytes

    init(_ secret: consuming GuardedBytes) { self.secret = secret }

    /// The key's size in bytes.
    public var count: Int { secret.count }

    /// Creates a random key of `count` bytes.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func random(count: Int = 32) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try GuardedBytes.random(count: count))
    }

    /// Creates a key from a copy of `bytes`. The source is not cleared.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func copying(_ bytes: Span<UInt8>) throws(CofferError) -> SymmetricKey {
        SymmetricKey(try GuardedBytes.copying(bytes))
    }

    /// Creates a key from secret bytes and takes ownership of them.
    public static func adopting(_ bytes: consuming SecretBytes) -> SymmetricKey {
        SymmetricKey(bytes.guarded)
    }

    /// Calls `body` with the key's bytes. Use this function for a key stored in a class: a caller cannot
    /// access the span of such a key directly.
    package func withSpan<Result: ~Copyable>(
        _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        try body(secret.span)
    }

    /// Returns whether both keys are the same, in time that depends only on the sizes.
    public func isEqual(to other: borrowing SymmetricKey) -> Bool {
        ConstantTime.equal(secret.span, other.secret.span)
    }
}
