import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("Guarded memory")
struct GuardedBytesTests {
    @Test(
        "Guarded memory holds zeros, copies, concatenations and random bytes of any size",
        arguments: [0, 1, 31, 32, 4095, 4096, 4097])
    func holdsWhatItIsGiven(count: Int) throws {
        let zeros = try GuardedBytes.zeroed(count: count)
        #expect(zeros.span.copied() == [UInt8](repeating: 0, count: count))
        let bytes = [UInt8].counting(count)
        let copy = try GuardedBytes.copying(bytes.span)
        #expect(copy.span.copied() == bytes)
        let both = try GuardedBytes.concatenating(bytes.span, copy.span)
        #expect(both.span.copied() == bytes + bytes)
        let random = try GuardedBytes.random(count: count)
        #expect(random.count == count)
    }

    @Test("Two random buffers differ")
    func randomBytesDiffer() throws {
        let first = try GuardedBytes.random(count: 16)
        let second = try GuardedBytes.random(count: 16)
        #expect(first.span.copied() != second.span.copied())
    }

    @Test("The owner can write into its buffer")
    func canBeWrittenThroughItsOwner() throws {
        var bytes = try GuardedBytes.zeroed(count: 4)
        var span = bytes.mutableSpan
        span.write([7, 8].span, at: 1)
        #expect(bytes.span.copied() == [0, 7, 8, 0])
    }

    @Test("An impossible size is reported as a lack of memory", arguments: [-1, Int.min, Int.max])
    func refusesImpossibleSizes(count: Int) {
        #expect(failure { _ = try GuardedBytes.zeroed(count: count) } == .outOfMemory)
        #expect(failure { _ = try GuardedBytes.random(count: count) } == .outOfMemory)
    }

    @Test("An error while the buffer is filled reaches the caller unchanged")
    func aFailedFillThrowsItsError() {
        let code = failure {
            _ = try GuardedBytes.filled(count: 8) { (_) throws(CofferError) in throw .notAuthentic }
        }
        #expect(code == .notAuthentic)
    }

    /// The pages are cleared when the owner is destroyed: a scan of the process's memory finds the secret
    /// before and no eight bytes of it after. Runs in a separate process, whose memory is small and which no
    /// other test fills.
    @Test(
        "A released buffer leaves no eight bytes of the secret in the process's memory",
        .enabled(if: OwnMemory.isReadable, "/proc/self/mem cannot be read here"))
    func leavesNothingBehind() async {
        await #expect(processExitsWith: .success) {
            var secret: GuardedBytes? = try GuardedBytes.random(count: 32)
            // The complement is what this test remembers; the secret itself stands in guarded memory alone.
            var complement = [UInt8](repeating: 0, count: 32)
            switch secret {
            case .some(let bytes): for index in 0..<32 { complement[index] = ~bytes.span[index] }
            case .none: break
            }
            #expect(try OwnMemory.count(complementsOf: [complement]) > 0)
            secret = nil
            let ends = [Array(complement.prefix(8)), Array(complement.suffix(8))]
            #expect(try OwnMemory.count(complementsOf: ends) == 0)
        }
    }
}
