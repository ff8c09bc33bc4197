import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("age files")
struct AgeFileTests {
    private static let chunk = 64 << 10
    private static let sealed = chunk + 16
    private let identity: AgeIdentity

    init() throws { identity = try AgeIdentity.generate() }

    @Test(
        "A file of any size is read back, whatever the pieces that are written and read",
        arguments: [0, 1, 15, 16, 65_535, 65_536, 65_537, 131_072, 262_144, 262_145, 589_831])
    func sizes(_ count: Int) throws {
        let plaintext = AgeFiles.sample(count)
        for step in [Int.max, 70_001, 65_536, 512, 4 * Self.chunk] {
            let file = try AgeFiles.encrypted(plaintext, to: [identity.recipient], step: step)
            let chunks = max(1, (count + Self.chunk - 1) / Self.chunk)
            // The version line, the stanza's two lines, the MAC's line and the nonce.
            #expect(file.count == 22 + 54 + 44 + 48 + 16 + count + 16 * chunks)
            for step in [Int.max, 65_552, 100_003] {
                let read = AgeFiles.decrypted(file, [identity], step: step)
                #expect(read.code == nil && read.plaintext == plaintext)
            }
        }
        let file = try AgeFiles.encrypted(plaintext, to: [identity.recipient])
        let byByte = AgeFiles.decrypted(Array(file.prefix(3000)), [identity], step: 1)
        #expect(byByte.plaintext == (file.count <= 3000 ? plaintext : []))
        #expect(byByte.code == (file.count <= 3000 ? nil : .corrupt))
    }

    @Test("read(into:) fills every buffer up to the end, and then returns 0")
    func reading() throws {
        let plaintext = AgeFiles.sample(3 * Self.chunk + 100)
        var source = AgeFiles.Source(try AgeFiles.encrypted(plaintext, to: [identity.recipient]), step: 7777)
        var reader = try AgeReader.open(identities: [identity]) { source.read(into: &$0) }
        var read: [UInt8] = []
        for size in [1, 511, 70_000, 0, 65_536, 200_000, 10] {
            var buffer = [UInt8](repeating: 0xEE, count: size)
            var span = buffer.mutableSpan
            let count = try reader.read(into: &span) { source.read(into: &$0) }
            #expect(count == min(size, plaintext.count - read.count))
            read += buffer.prefix(count)
        }
        #expect(read == plaintext)
        #expect(source.largest <= 4 * Self.sealed + 1, "memory is not bounded")
    }

    @Test("Each of many recipients can read, nobody else can, and a header of 10 001 is refused")
    func recipients() throws {
        var identities: [AgeIdentity] = []
        for _ in 0..<20 { identities.append(try AgeIdentity.generate()) }
        let file = try AgeFiles.encrypted([1, 2, 3], to: identities.map(\.recipient))
        for reader in identities { #expect(AgeFiles.decrypted(file, [reader]).plaintext == [1, 2, 3]) }
        #expect(AgeFiles.decrypted(file, [identity, identities[19]]).plaintext == [1, 2, 3])
        #expect(AgeFiles.decrypted(file, [identity]).code == .absent)
        #expect(AgeFiles.decrypted(file, []).code == .invalidInput)
        #expect(AgeFiles.decrypted(file, passphrase: "x").code == .absent)
        #expect(failure { _ = try AgeFiles.encrypted([], to: []) } == .invalidInput)
        let many = [AgeRecipient](repeating: identity.recipient, count: 10_001)
        #expect(failure { _ = try AgeFiles.encrypted([], to: many) } == .invalidInput)
        let most = try AgeFiles.encrypted([9], to: Array(many.prefix(10_000)))
        #expect(AgeFiles.decrypted(most, [identity]).plaintext == [9])
    }

    @Test("A passphrase opens its file; another one, none, and an identity do not")
    func passphrase() throws {
        let file = try AgeFiles.encrypted([4, 5], passphrase: "correct horse")
        #expect(String(decoding: file, as: UTF8.self).contains(" 2\n"))
        #expect(AgeFiles.decrypted(file, passphrase: "correct horse").plaintext == [4, 5])
        #expect(AgeFiles.decrypted(file, passphrase: "correct horsf").code == .wrongPasscode)
        #expect(AgeFiles.decrypted(file, passphrase: "").code == .wrongPasscode)
        let byIdentity = AgeFiles.decrypted(file, [identity])
        #expect(byIdentity.code == .absent && byIdentity.message.contains("passphrase"))
        #expect(failure { _ = try AgeFiles.encrypted([], passphrase: "") } == .invalidInput)
        for factor in [0, -1, 23, 64] {
            #expect(
                failure { _ = try AgeFiles.encrypted([], passphrase: "x", workFactor: factor) }
                    == .invalidInput)
        }
    }

    @Test("A file that is cut at any byte or extended is refused, and what was read is its beginning")
    func cut() throws {
        for count in [0, 100] {
            let plaintext = AgeFiles.sample(count)
            let file = try AgeFiles.encrypted(plaintext, to: [identity.recipient])
            for length in 0..<file.count {
                let read = AgeFiles.decrypted(Array(file.prefix(length)), [identity])
                #expect(read.code == .corrupt, "\(length)")
                #expect(read.plaintext.isEmpty)
            }
            for more in [[0], file, [UInt8](repeating: 0, count: 16), [UInt8](repeating: 7, count: 70_000)] {
                let read = AgeFiles.decrypted(file + more, [identity])
                #expect(read.code == .corrupt && read.plaintext.isEmpty)
            }
        }
    }

    @Test("Chunks that are dropped, swapped, repeated, or cut off behind one are refused in their place")
    func chunks() throws {
        let plaintext = AgeFiles.sample(5 * Self.chunk)
        let file = try AgeFiles.encrypted(plaintext, to: [identity.recipient])
        let start = file.count - 5 * Self.sealed
        let head = Array(file[..<start])
        let chunks = (0..<5).map { Array(file[start + $0 * Self.sealed..<start + ($0 + 1) * Self.sealed]) }
        let orders = [
            ([0, 1, 2, 3], 3), ([0, 1, 2, 4], 3), ([0, 2, 1, 3, 4], 1), ([1, 0, 2, 3, 4], 0), ([4], 0),
            ([0, 1, 2, 3, 3, 4], 4), ([0, 1, 2, 3, 4, 4], 4), ([0, 1, 2, 3, 4, 0], 4), ([], 0), ([0], 0),
        ]
        #expect(AgeFiles.decrypted(head + chunks.joined(), [identity]).plaintext == plaintext)
        for (order, good) in orders {
            let read = AgeFiles.decrypted(head + order.flatMap { chunks[$0] }, [identity])
            #expect(read.code == .corrupt, "\(order)")
            #expect(read.plaintext == Array(plaintext.prefix(good * Self.chunk)), "\(order)")
        }
        let other = try AgeFiles.encrypted(plaintext, to: [identity.recipient])
        let mixed = head + other[start...]
        #expect(AgeFiles.decrypted(mixed, [identity]).code == .corrupt)
    }

    @Test("A flipped bit in any byte of header, nonce or payload is refused")
    func flips() throws {
        let file = try AgeFiles.encrypted([1, 2, 3], to: [identity.recipient])
        for index in file.indices {
            for bit in [0, 3, 7] {
                var damaged = file
                damaged[index] ^= 1 << UInt8(bit)
                let read = AgeFiles.decrypted(damaged, [identity])
                #expect(read.plaintext.isEmpty, "byte \(index), bit \(bit)")
                let allowed: Set<CofferError.Code?> = [
                    .corrupt, .notAuthentic, .absent, .unsupportedVersion,
                ]
                #expect(
                    allowed.contains(read.code), "byte \(index), bit \(bit): \(String(describing: read.code))"
                )
            }
        }
    }

    @Test("After a damaged chunk and after an error of the input, the reader throws the same again")
    func failures() throws {
        var file = try AgeFiles.encrypted(AgeFiles.sample(200_000), to: [identity.recipient])
        file[file.count - 1] ^= 1
        var source = AgeFiles.Source(file)
        var reader = try AgeReader.open(identities: [identity]) { source.read(into: &$0) }
        for _ in 0..<3 {
            let count = try reader.next(input: { source.read(into: &$0) }, { $0.count })
            #expect(count == Self.chunk)
        }
        for _ in 0..<3 {
            let code = failure { _ = try reader.next(input: { source.read(into: &$0) }, { $0.count }) }
            #expect(code == .corrupt)
        }
        let broken = CofferError(.inputOutput, "The disk is broken.")
        var whole = AgeFiles.Source(
            try AgeFiles.encrypted(AgeFiles.sample(200_000), to: [identity.recipient]))
        reader = try AgeReader.open(identities: [identity]) { (span) throws(CofferError) in
            var few = span._mutatingExtracting(..<1)
            return whole.read(into: &few)
        }
        let refusal = failure {
            _ = try reader.next(input: { (_) throws(CofferError) in throw broken }, { $0.count })
        }
        #expect(refusal == .inputOutput)
        let again = failure { _ = try reader.next(input: { whole.read(into: &$0) }, { $0.count }) }
        #expect(again == .inputOutput)
    }

    @Test("After its output failed, the writer seals nothing more and does not finish")
    func outputFails() throws {
        let full = CofferError(.noSpace, "The disk is full.")
        var writer = try AgeWriter.start(to: [identity.recipient]) { _ in }
        let plaintext = AgeFiles.sample(10 * Self.chunk)
        var passed = 0
        let first = failure {
            try writer.write(plaintext.span) { (bytes) throws(CofferError) in
                guard passed == 0 else { throw full }
                passed += bytes.count
            }
        }
        #expect(first == .noSpace && passed == 4 * Self.sealed)
        var after = 0
        let second = failure { try writer.write(plaintext.span) { after += $0.count } }
        #expect(second == .noSpace)
        var finished: CofferError.Code?
        do throws(CofferError) {
            try writer.finish { after += $0.count }
        } catch {
            finished = error.code
        }
        #expect(finished == .noSpace && after == 0)
    }
}
