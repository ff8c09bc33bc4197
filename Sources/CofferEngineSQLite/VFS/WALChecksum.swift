/// SQLite's checksum of a write-ahead log: two sums over pairs of 32-bit words (SQLite file format, 4.2).
///
/// A step is `first += left + second; second += right + first`, so each step depends on the previous one.
/// Steps are linear modulo 2^32, so eight parts of a page can be summed in parallel and combined afterwards.
/// To combine them, the sums before a part of `n` pairs are multiplied by the matrix of a step to the power
/// of `n`.
package struct WALChecksum: Equatable, Sendable {
    package var first: UInt32 = 0
    package var second: UInt32 = 0

    package init() {}

    package init(first: UInt32, second: UInt32) { (self.first, self.second) = (first, second) }

    /// Continues the sums over `bytes`, whose count must be a multiple of 8.
    package mutating func add(_ bytes: Span<UInt8>, isBigEndian: Bool) {
        precondition(bytes.count % 8 == 0)
        let swaps = isBigEndian != (1.bigEndian == 1)
        let part = bytes.count / 8
        guard !swaps, part >= 64, part.nonzeroBitCount == 1 else {
            return unsafe addPairs(bytes.bytes, swaps: swaps)
        }
        unsafe updateUnrolled(bytes.bytes, of: part)
    }

    private mutating func addPairs(_ words: RawSpan, swaps: Bool) {
        // Local variables stay in registers.
        var (first, second) = (first, second)
        var offset = 0
        while offset < words.byteCount {
            let left = unsafe words.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self)
            let right = unsafe words.unsafeLoadUnaligned(fromUncheckedByteOffset: offset + 4, as: UInt32.self)
            first = (first &+ (swaps ? left.byteSwapped : left)) &+ second
            second = (second &+ (swaps ? right.byteSwapped : right)) &+ first
            offset += 8
        }
        (self.first, self.second) = (first, second)
    }

    /// Continues the sums over eight parts of `size` bytes each, a power of two. Each part has its own lane
    /// of the vectors.
    private mutating func updateUnrolled(_ words: RawSpan, of size: Int) {
        func load(_ offset: Int) -> SIMD4<UInt32> {
            unsafe words.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD4<UInt32>.self)
        }
        func four(_ offset: Int) -> SIMD16<UInt32> {
            SIMD16(
                lowHalf: SIMD8(lowHalf: load(offset), highHalf: load(size + offset)),
                highHalf: SIMD8(lowHalf: load(2 * size + offset), highHalf: load(3 * size + offset)))
        }
        var firsts = SIMD8<UInt32>(first, 0, 0, 0, 0, 0, 0, 0)
        var seconds = SIMD8<UInt32>(second, 0, 0, 0, 0, 0, 0, 0)
        var offset = 0
        while offset < size {
            let low = four(offset)
            let high = four(4 * size + offset)
            let lefts = SIMD16(lowHalf: low.evenHalf, highHalf: high.evenHalf)
            let rights = SIMD16(lowHalf: low.oddHalf, highHalf: high.oddHalf)
            firsts = (firsts &+ lefts.evenHalf) &+ seconds
            seconds = (seconds &+ rights.evenHalf) &+ firsts
            firsts = (firsts &+ lefts.oddHalf) &+ seconds
            seconds = (seconds &+ rights.oddHalf) &+ firsts
            offset += 16
        }
        // The matrix of a step is (1 1; 1 2), which is symmetric like all its powers.
        var (a, b, c): (UInt32, UInt32, UInt32) = (1, 1, 2)
        for _ in 0..<(size / 8).trailingZeroBitCount {
            (a, b, c) = (a &* a &+ b &* b, b &* (a &+ c), b &* b &+ c &* c)
        }
        (first, second) = (firsts[0], seconds[0])
        for lane in 1..<8 {
            (first, second) = (
                a &* first &+ b &* second &+ firsts[lane], b &* first &+ c &* second &+ seconds[lane]
            )
        }
    }
}
