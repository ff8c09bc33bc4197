@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The container format")
struct ContainerTests {
    @Test(
        "Contents of sizes around chunk borders round-trip",
        arguments: ContainerCipherSuite.allCases, [(4, 16), (6, 64), (16, 65536)])
    func sizesAroundChunksRoundTrip(suite: ContainerCipherSuite, chunk: (log2: UInt8, size: Int)) async throws
    {
        let fixture = try await ContainerFixture()
        let size = chunk.size
        for count in [0, 1, size - 1, size, size + 1, 2 * size, 3 * size, 3 * size + 1] {
            let plaintext = ContainerFixture.plaintext(count)
            let bytes = try fixture.seal(plaintext, chunkSizeLog2: chunk.log2, suite: suite)
            #expect(bytes.count == 4096 + count + (count / size + 1) * 32)
            #expect(try fixture.open(bytes) == plaintext, "\(count) bytes")
        }
    }

    @Test("A large content round-trips in several runs on several threads")
    func severalRunsOnSeveralThreads() async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(5 << 20)
        let bytes = try fixture.seal(plaintext, chunkSizeLog2: 16)
        let reader = try fixture.reader(bytes)
        #expect(try fixture.read(reader) == plaintext)
        let count = Counter()
        try reader.verify(check: {}) { _ in count.increment() }
        #expect(count.value == 6)
    }

    @Test("Every truncated or extended container is refused", arguments: [0, 1, 15, 16, 17, 47, 48, 49])
    func everyTruncationIsRefused(count: Int) async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(count))
        // In the header a handful of places, behind it every byte.
        let cuts = Array(stride(from: 0, to: 4096, by: 97)) + Array(4096..<bytes.count)
        for cut in cuts {
            #expect(failure { _ = try fixture.open(Array(bytes.prefix(cut))) } == .corrupt, "\(cut) bytes")
        }
        for more in [1, 15, 16, 31, 32, 33, 48, 4096] {
            let zeros = [UInt8](repeating: 0, count: more)
            let random = ContainerFixture.plaintext(more)
            for extended in [bytes + zeros, bytes + random, bytes + bytes.suffix(more)] {
                #expect(failure { _ = try fixture.open(extended) } == .corrupt, "\(more) more")
            }
        }
    }

    @Test("Every truncation inside the header is refused")
    func everyTruncationInsideTheHeaderIsRefused() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal([])
        for cut in 0..<4096 {
            #expect(failure { _ = try fixture.open(Array(bytes.prefix(cut))) } == .corrupt)
        }
    }

    @Test("A flipped bit is refused or, in the unused slot, harmless")
    func twoThousandFlippedBitsNeverGiveWrongPlaintext() async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(200)
        let bytes = try fixture.seal(plaintext)
        var random = SystemRandomNumberGenerator()
        var refused = 0
        for _ in 0..<2000 {
            var damaged = bytes
            let bit = Int.random(in: 0..<bytes.count * 8, using: &random)
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            let isUnused = (2048..<4096).contains(bit / 8)
            do {
                #expect(try fixture.open(damaged) == plaintext, "bit \(bit)")
                #expect(isUnused, "bit \(bit) makes no difference")
            } catch {
                refused += 1
                let code = (error as? CofferError)?.code
                let isHead = bit / 8 < 88 && (code == .unsupportedVersion || code == .foreign)
                #expect(code == .corrupt || isHead, "bit \(bit)")
            }
        }
        #expect(refused > 800)
    }

    @Test("A change to any byte of a small body is refused")
    func everyByteOfASmallBodyCounts() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(33))
        for offset in 4096..<bytes.count {
            var damaged = bytes
            damaged[offset] ^= 0x40
            #expect(failure { _ = try fixture.open(damaged) } == .corrupt, "byte \(offset)")
        }
    }

    @Test("Swapped, repeated and foreign chunks are refused")
    func swappedRepeatedAndForeignChunksAreRefused() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(64 + 5))
        let other = try fixture.seal(ContainerFixture.plaintext(64 + 5))
        func chunk(_ bytes: [UInt8], _ index: Int) -> [UInt8] {
            Array(bytes[4096 + index * 48..<4096 + (index + 1) * 48])
        }
        let chunks = (0..<4).map { chunk(bytes, $0) }
        let header = Array(bytes.prefix(4096))
        let last = Array(bytes.suffix(37))
        for order in [[1, 0, 2, 3], [0, 1, 3, 2], [0, 0, 2, 3], [3, 2, 1, 0]] {
            #expect(
                failure { _ = try fixture.open(header + order.flatMap { chunks[$0] } + last) } == .corrupt)
        }
        let three = Array(chunks.dropLast().joined())
        #expect(failure { _ = try fixture.open(header + three + last) } == .corrupt)
        #expect(failure { _ = try fixture.open(header + three + chunk(other, 3) + last) } == .corrupt)
        #expect(
            failure { _ = try fixture.open(Array(other.prefix(4096)) + bytes.dropFirst(4096)) } == .corrupt)
    }

    @Test("A container opens only with its own identifier and context")
    func theRightIdAndContextAreNeeded() async throws {
        let fixture = try await ContainerFixture()
        let plaintext = ContainerFixture.plaintext(40)
        let (id, other) = (try FileID.random(), try FileID.random())
        let plain = try fixture.seal(plaintext, id: id)
        #expect(try fixture.open(plain, id: id) == plaintext)
        #expect(failure { _ = try fixture.open(plain, id: other) } == .corrupt)
        #expect(failure { _ = try fixture.open(plain, context: [1]) } == .corrupt)
        let bound = try fixture.seal(plaintext, id: id, context: Array("record 7".utf8))
        #expect(try fixture.open(bound, context: Array("record 7".utf8)) == plaintext)
        for context in [[], Array("record 8".utf8), Array("record 7\0".utf8)] {
            #expect(failure { _ = try fixture.open(bound, context: context) } == .corrupt)
        }
    }

    @Test("Neither the device key nor the class key alone opens a container")
    func eitherKeyAloneOpensNothing() async throws {
        let fixture = try await ContainerFixture()
        let stranger = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(40))
        let device = failure { _ = try fixture.open(bytes, device: stranger.device) }
        #expect(device == .foreign)
        #expect(failure { _ = try fixture.open(bytes, key: stranger.classKey) } == .corrupt)
        #expect(failure { _ = try stranger.open(bytes) } == .foreign)
    }

    @Test("A container of a newer release is reported as unsupported")
    func aNewerReleasesContainerIsSaid() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(ContainerFixture.plaintext(40))
        for (offset, value) in [(9, UInt8(2)), (8, 1), (10, 3), (10, 0), (65, 9), (67, 2)] {
            var newer = bytes
            newer[offset] = value
            #expect(failure { _ = try fixture.open(newer) } == .unsupportedVersion, "byte \(offset)")
        }
        for chunkSizeLog2: UInt8 in [0, 3, 23, 64, 255] {
            var odd = bytes
            odd[11] = chunkSizeLog2
            #expect(failure { _ = try fixture.open(odd) } == .corrupt)
        }
    }

    @Test("Two containers of the same content have no block in common")
    func sealingTheSameTwiceHasNothingInCommon() async throws {
        let fixture = try await ContainerFixture()
        let id = try FileID.random()
        let zeros = [UInt8](repeating: 0, count: 4096)
        let (first, second) = (try fixture.seal(zeros, id: id), try fixture.seal(zeros, id: id))
        var blocks: Set<[UInt8]> = []
        for bytes in [first, second] {
            for start in stride(from: 4096, to: bytes.count - 16, by: 16) {
                #expect(blocks.insert(Array(bytes[start..<start + 16])).inserted)
            }
        }
    }
}
