package import CofferBase
import CSodium

/// The only owner of a secret: bytes in guarded, locked pages that are cleared when the owner is destroyed.
///
/// The pages come from `sodium_malloc`: they have a guard page on either side and a canary, are locked with
/// `mlock` where the limit allows it, and are excluded from core dumps. The value cannot be copied, compared
/// with `==`, printed or encoded.
package struct GuardedBytes: ~Copyable, Sendable {
    private let storage: GuardedStorage

    /// Creates the owner of pages to which no other code writes from now on.
    init(adopting storage: GuardedStorage) {
        self.storage = storage
        count = storage.count
    }

    /// The size of the secret in bytes.
    package private(set) var count: Int

    /// Clears and discards all bytes after the first `count`, such as padding.
    package mutating func shrink(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        unsafe sodium_memzero(storage.start + count, self.count - count)
        self.count = count
    }

    /// The secret, readable while it is borrowed.
    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let start = unsafe storage.start
            let span = unsafe Span<UInt8>(_unsafeStart: start, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The secret, writable while this owner is held exclusively.
    package var mutableSpan: MutableSpan<UInt8> {
        @_lifetime(&self)
        mutating get {
            let start = unsafe storage.start
            let span = unsafe MutableSpan<UInt8>(_unsafeStart: start, count: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Returns `count` zero bytes in newly allocated guarded pages.
    package static func zeroed(count: Int) throws(CofferError) -> GuardedBytes {
        GuardedBytes(adopting: try GuardedStorage.make(count: count))
    }

    /// Returns `count` random bytes from the system's generator.
    package static func random(count: Int) throws(CofferError) -> GuardedBytes {
        let storage = try GuardedStorage.make(count: count)
        unsafe randombytes_buf(storage.start, count)
        return GuardedBytes(adopting: storage)
    }

    /// Returns a copy of `bytes`. The source is not cleared.
    package static func copying(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        let storage = try GuardedStorage.make(count: bytes.count)
        unsafe bytes.withUnsafeBytes { source in
            unsafe UnsafeMutableRawBufferPointer(start: storage.start, count: storage.count).copyMemory(
                from: source)
        }
        return GuardedBytes(adopting: storage)
    }

    /// Returns `count` bytes that are filled by `fill`, which must write every byte.
    package static func filled(
        count: Int, _ fill: (inout MutableSpan<UInt8>) throws(CofferError) -> Void
    ) throws(CofferError) -> GuardedBytes {
        let storage = try GuardedStorage.make(count: count)
        var span = unsafe MutableSpan<UInt8>(_unsafeStart: storage.start, count: storage.count)
        try fill(&span)
        return GuardedBytes(adopting: storage)
    }

    /// Returns the bytes of two spans, one after the other.
    package static func concatenating(
        _ first: Span<UInt8>, _ second: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        try filled(count: first.count + second.count) { (span) throws(CofferError) in
            span.write(first, at: 0)
            span.write(second, at: first.count)
        }
    }
}
