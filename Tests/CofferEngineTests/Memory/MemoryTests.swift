import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("Comparison in constant time")
struct ConstantTimeTests {
    private func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        ConstantTime.equal(left.span, right.span)
    }

    @Test("Equal bytes compare as equal", arguments: [0, 1, 15, 16, 33])
    func equalBytesAreEqual(count: Int) { #expect(equal(.counting(count), .counting(count))) }

    @Test("One flipped bit makes bytes unequal")
    func everyFlippedBitCounts() {
        let bytes = [UInt8].counting(33)
        for other in bytes.withEachBitFlipped { #expect(!equal(bytes, other)) }
    }

    @Test("Bytes of different lengths are unequal")
    func lengthsCount() {
        #expect(!equal(.counting(16), .counting(15)))
        #expect(!equal([], .counting(16)))
        let none = ConstantTime.equal(Span(), Span())
        #expect(none)
    }
}

@Suite("Aligned buffers")
struct AlignedBufferTests {
    @Test("A buffer starts with zeros, keeps what is written, and can be cleared")
    func startsZeroedAndKeepsWhatIsWritten() throws {
        let buffer = try AlignedBuffer.make(count: 5000)
        #expect(buffer.read(0..<5000) { $0.copied() } == [UInt8](repeating: 0, count: 5000))
        buffer.write(4090..<4100) { $0.write([UInt8].counting(10, from: 1).span, at: 0) }
        #expect(buffer.read(4089..<4101) { $0.copied() } == [0] + [UInt8].counting(10, from: 1) + [0])
        buffer.clear()
        #expect(buffer.read(0..<5000) { $0.copied() } == [UInt8](repeating: 0, count: 5000))
        #expect(buffer.read(5000..<5000) { $0.count } == 0)
    }

    @Test("A buffer of no bytes is refused", arguments: [0, -1, Int.min])
    func needsAByte(count: Int) {
        #expect(failure { _ = try AlignedBuffer.make(count: count) } == .invalidInput)
    }

    @Test("A buffer larger than memory fails with outOfMemory")
    func saysWhenThereIsNoMemory() {
        #expect(failure { _ = try AlignedBuffer.make(count: 1 << 62) } == .outOfMemory)
    }
}

@Suite("Spans")
struct SpansTests {
    @Test("A span is written at any offset and cleared")
    func writesAndClears() {
        var bytes = [UInt8].counting(6)
        var span = bytes.mutableSpan
        span.write([9, 9].span, at: 4)
        span.write(Span(), at: 6)
        #expect(bytes == [0, 1, 2, 3, 9, 9])
        bytes.clear()
        #expect(bytes == [0, 0, 0, 0, 0, 0])
        var none: [UInt8] = []
        none.clear()
        #expect(Span<UInt8>().copied().isEmpty)
    }

    @Test("A write outside the span traps")
    func trapsWhenItDoesNotFit() async {
        await #expect(processExitsWith: .failure) {
            var bytes = [UInt8](repeating: 0, count: 4)
            var span = bytes.mutableSpan
            span.write([1, 2].span, at: 3)
        }
        await #expect(processExitsWith: .failure) {
            var bytes = [UInt8](repeating: 0, count: 4)
            var span = bytes.mutableSpan
            span.write([1, 2].span, at: -1)
        }
    }
}

@Suite("Random bytes")
struct SecureRandomTests {
    @Test("The generator returns as many bytes as were asked for", arguments: [0, 1, 16, 1000])
    func givesAsManyAsAsked(count: Int) throws {
        #expect(try SecureRandom.bytes(count).count == count)
    }

    @Test("The generator fills every byte")
    func fillsEveryByte() throws {
        // A byte that is zero in 16 draws running is not being written: 2^-128 by chance.
        var seen = [UInt8](repeating: 0, count: 64)
        for _ in 0..<16 {
            for (index, byte) in try SecureRandom.bytes(64).enumerated() { seen[index] |= byte }
        }
        #expect(!seen.contains(0))
    }
}
