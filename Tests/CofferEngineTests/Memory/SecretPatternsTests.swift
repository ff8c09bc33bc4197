import CofferEngine
import Foundation
import Testing

@Suite("Searching for secrets")
struct SecretPatternsTests {
    private static let canary = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) }

    private func found(_ bytes: [UInt8], isWhole: Bool = false) -> Set<String> {
        var needles = SecretPatterns()
        needles.add("it", Self.canary.span, isWhole: isWhole)
        return needles.found(in: bytes.span)
    }

    private static let forms: [(name: String, bytes: [UInt8])] = {
        let hex = canary.map { String(format: "%02x", $0) }.joined()
        var forms: [(String, [UInt8])] = [
            ("it", canary), ("it in hexadecimal", Array(hex.utf8)),
            ("it in hexadecimal", Array(hex.uppercased().utf8)),
            ("it in UTF-16", canary.flatMap { [$0, 0] }),
        ]
        for shift in 0..<3 {
            let text = Data([UInt8](repeating: 0xAB, count: shift) + canary).base64EncodedString()
            forms.append(("it in Base64", Array(text.utf8)))
        }
        return forms
    }()

    @Test("The search finds a secret in every encoding at every offset", arguments: 0..<7)
    func inEveryFormAtEveryPlace(number: Int) {
        let form = Self.forms[number]
        for padding in 0..<9 {
            let around = [UInt8](repeating: UInt8(ascii: "-"), count: padding)
            #expect(found(around + form.bytes + around).contains(form.name), "\(padding)")
        }
    }

    @Test("Any eight bytes of a secret are found, unless only the whole secret is sought")
    func anyEightBytesAreEnough() {
        for start in 0...24 {
            let piece = Array(Self.canary[start..<start + 8])
            #expect(found([1, 2, 3] + piece + [4]) == ["it"])
            #expect(found([1, 2, 3] + piece + [4], isWhole: true).isEmpty)
            #expect(found([1, 2, 3] + Self.canary[start..<min(32, start + 7)]).isEmpty)
        }
        #expect(found(Self.canary, isWhole: true) == ["it"])
    }

    @Test("Random bytes, zeros and secrets that are too short match nothing")
    func nothingWhereThereIsNothing() throws {
        let noise = try SecureRandom.bytes(1 << 18)
        #expect(found(noise).isEmpty)
        #expect(found([]).isEmpty)
        var needles = SecretPatterns()
        needles.add("short", Array(Self.canary.prefix(7)).span)
        needles.add("zeros", [UInt8](repeating: 0, count: 64).span)
        #expect(needles.found(in: [UInt8](repeating: 0, count: 4096).span).isEmpty)
        #expect(needles.found(in: Self.canary.span).isEmpty)
    }

    @Test("The search tells several secrets apart")
    func severalAreToldApart() {
        var needles = SecretPatterns()
        let other = Self.canary.map { $0 ^ 0x5A }
        needles.add("it", Self.canary.span)
        needles.add("other", other.span)
        #expect(needles.names == ["it", "other"])
        #expect(needles.found(in: other.span) == ["other"])
        let both = Self.canary + other
        #expect(needles.found(in: both.span) == ["it", "other"])
    }
}
