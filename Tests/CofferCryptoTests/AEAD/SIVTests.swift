import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("AES-SIV") struct SIVTests {
    private let plaintext = [UInt8].counting(40, from: 0x60)
    private let strings: [[UInt8]] = [.counting(20), .counting(12, from: 9)]

    private func make(_ size: Int = 64, from: UInt8 = 0) throws -> SIV {
        try SIV.prepare(key: try key(.counting(size, from: from)))
    }

    private func open(_ sealed: [UInt8], _ siv: inout SIV, _ strings: [[UInt8]]) throws -> [UInt8] {
        let opened = try siv.open(sealed.span, associatedData: strings)
        return bytes(opened)
    }

    @Test(
        "SIV opens what it sealed, and seals the same message to the same bytes",
        arguments: [32, 48, 64], [0, 1, 15, 16, 17, 32, 100])
    func opensWhatItSealed(size: Int, count: Int) throws {
        var siv = try make(size)
        for strings in [[], [[]], strings] {
            let sealed = try siv.seal([UInt8].counting(count).span, associatedData: strings)
            #expect(sealed.count == count + SIV.tagSize)
            #expect(try open(sealed, &siv, strings) == .counting(count))
            // The same bytes again: nothing in it is drawn, and nothing stays of the message before.
            #expect(try siv.seal([UInt8].counting(count).span, associatedData: strings) == sealed)
        }
    }

    @Test("An empty string of associated data differs from none, with and without a message")
    func emptyStrings() throws {
        var siv = try make()
        for message in [[], plaintext] {
            let variants = try [[], [[]], [[], []]].map { try siv.seal(message.span, associatedData: $0) }
            #expect(Set(variants).count == 3)
            for (number, sealed) in variants.enumerated() {
                for other in 0..<3 where other != number {
                    let strings = [[UInt8]](repeating: [], count: other)
                    #expect(failure { _ = try open(sealed, &siv, strings) } == .notAuthentic)
                }
            }
        }
    }

    @Test("A changed, cut or reordered input and another key are not authentic")
    func refusesEverythingElse() throws {
        var siv = try make()
        var other = try make(from: 1)
        let sealed = try siv.seal(plaintext.span, associatedData: strings)
        for flipped in sealed.withEachBitFlipped {
            #expect(failure { _ = try open(flipped, &siv, strings) } == .notAuthentic)
        }
        for count in 0..<sealed.count {
            #expect(failure { _ = try open(Array(sealed.prefix(count)), &siv, strings) } == .notAuthentic)
        }
        for wrong in [[], [strings[0]], strings.reversed(), strings + [[]], [strings[0] + strings[1]]] {
            #expect(failure { _ = try open(sealed, &siv, Array(wrong)) } == .notAuthentic)
        }
        #expect(failure { _ = try open(sealed, &other, strings) } == .notAuthentic)
        #expect(try open(sealed, &siv, strings) == plaintext)
    }

    @Test("Keys of other sizes and too many strings of associated data are refused")
    func refusesSizes() throws {
        for size in oddKeySizes + [16, 24, 47, 49, 63, 65, 128] where size != 64 {
            #expect(failure { _ = try make(size) } == .invalidInput)
        }
        var siv = try make()
        let most = [[UInt8]](repeating: [1], count: SIV.maxStringCount)
        let sealed = try siv.seal(plaintext.span, associatedData: most)
        #expect(try open(sealed, &siv, most) == plaintext)
        #expect(failure { _ = try siv.seal(plaintext.span, associatedData: most + [[1]]) } == .invalidInput)
        #expect(failure { _ = try open(sealed, &siv, most + [[1]]) } == .invalidInput)
    }
}
