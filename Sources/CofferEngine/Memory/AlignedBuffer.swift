package import CofferBase
import Glibc

/// A large page-aligned buffer for bulk data, excluded from core dumps and cleared when it is released.
///
/// The buffer is not locked in memory, because file contents can exceed the limit on locked memory. The
/// `@unchecked Sendable` conformance is safe because the pointer never changes and callers that share a
/// buffer between threads assign a separate range to each thread.
@safe package final class AlignedBuffer: @unchecked Sendable {
    private let start: UnsafeMutablePointer<UInt8>

    /// The size of the buffer in bytes.
    package let count: Int

    private init(start: UnsafeMutablePointer<UInt8>, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    /// Allocates a zeroed buffer of `count` bytes, which must be at least 1.
    package static func make(count: Int) throws(CofferError) -> AlignedBuffer {
        guard count > 0 else {
            throw CofferError(.invalidInput, "A buffer cannot be \(count) bytes long.")
        }
        let mapped = unsafe mmap(
            nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            throw CofferError(
                .outOfMemory, "There is not enough memory for a buffer of \(count) bytes.",
                systemError: Errno.current)
        }
        _ = unsafe madvise(mapped, count, MADV_DONTDUMP)
        return unsafe AlignedBuffer(start: mapped.assumingMemoryBound(to: UInt8.self), count: count)
    }

    deinit {
        unsafe explicit_bzero(start, count)
        unsafe munmap(start, count)
    }

    /// Passes the bytes in `range` to `body` for reading.
    package func read<R: ~Copyable, E: Error>(
        _ range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return try body(unsafe Span(_unsafeStart: start + range.lowerBound, count: range.count))
    }

    /// Passes the bytes in `range` to `body` for writing.
    package func write<R: ~Copyable, E: Error>(
        _ range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        var span = unsafe MutableSpan<UInt8>(_unsafeStart: start + range.lowerBound, count: range.count)
        return try body(&span)
    }

    /// Overwrites the whole buffer with zeros.
    package func clear() { unsafe explicit_bzero(start, count) }
}
