public import CofferBase
@_exported public import struct CofferBase.CofferError
package import CofferEngine

/// Secret bytes in guarded memory, such as a passcode, a derived value or an opened message.
///
/// The bytes are surrounded by guard pages, locked in memory if the limit allows it, excluded from core
/// dumps, and cleared when the value is destroyed. The value cannot be copied, compared with `==`, printed or
/// encoded. About 2 000 such values fit within the usual lock limit of 8 MiB, so keep file contents
/// elsewhere.
///
/// Copies that you make while the bytes are exposed are not cleared.
public struct SecretBytes: ~Copyable, Sendable {
    package let guarded: GuardedBytes

    package init(_ guarded: consuming GuardedBytes) { self.guarded = guarded }

    /// Returns a copy of `bytes` in guarded memory. The source is not cleared.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func copying(_ bytes: Span<UInt8>) throws(CofferError) -> SecretBytes {
        SecretBytes(try GuardedBytes.copying(bytes))
    }

    /// Returns a copy of the UTF-8 bytes of `text` in guarded memory, without normalisation. The string
    /// itself cannot be cleared.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func copying(_ text: String) throws(CofferError) -> SecretBytes {
        try copying(Array(text.utf8).span)
    }

    /// Returns `count` random bytes from the kernel's generator.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func random(count: Int) throws(CofferError) -> SecretBytes {
        SecretBytes(try GuardedBytes.random(count: count))
    }

    /// The number of bytes.
    public var count: Int { guarded.count }

    /// Calls `body` with read-only access to the bytes. Copies that `body` makes are not guarded.
    public func exposing<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(guarded.span)
    }

    /// Returns whether both values have the same bytes, in time that depends only on the lengths.
    public func isEqual(to other: borrowing SecretBytes) -> Bool {
        ConstantTime.equal(guarded.span, other.guarded.span)
    }
}
