import CofferBase
import Testing

/// Each case has a combining accent where Swift's own comparison is led astray by it.
@Suite("Text compared as bytes")
struct ByteTextTests {
    private let accent = "\u{301}"

    @Test("A combining accent hides no separator, prefix or suffix")
    func anAccentHidesNoByte() {
        let name = "file:/a?\(accent)vfs=unix"
        // Swift's characters miss it, which is why they are not asked.
        #expect(!name.contains("?"))
        #expect(name.parts(between: "?") == ["file:/a", "\(accent)vfs=unix"])
        #expect(!".tmp-\(accent)".hasPrefix(".tmp-"))
        #expect(".tmp-\(accent)".utf8.hasPrefix(".tmp-"))
        #expect("a\(accent).order".utf8.hasSuffix("\(accent).order"))
        #expect(!"a.orde".utf8.hasSuffix(".order") && !"rder".utf8.hasSuffix(".order"))
        #expect("a".utf8.hasPrefix("") && "a".utf8.hasSuffix("") && !"".utf8.hasPrefix("a"))
    }

    @Test(
        "Texts that are equal to Unicode differ when their bytes do",
        arguments: [("é", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"), ("`", "\u{1FEF}")])
    func equivalentTextsAreDifferent(_ one: String, _ other: String) {
        #expect(one == other)
        #expect(!one.hasSameBytes(as: other))
        #expect(one.hasSameBytes(as: one) && other.hasSameBytes(as: other))
    }

    @Test("Splitting keeps the empty parts only on request")
    func partsKeepTheEmptyOnesWhereTheyAreWanted() {
        #expect("-a--b-".parts(between: "-") == ["a", "b"])
        #expect("-a--b-".parts(between: "-", keepsEmpty: true) == ["", "a", "", "b", ""])
        #expect("".parts(between: "-").isEmpty)
        #expect("".parts(between: "-", keepsEmpty: true) == [""])
    }

    @Test("Quotation marks are doubled under an accent, too")
    func marksAreDoubledUnderAnAccentToo() {
        #expect("a'\(accent)''".doubling("'").utf8.elementsEqual("a''\(accent)''''".utf8))
        #expect("plain".doubling("\"") == "plain")
    }

    @Test("Only ASCII letters change when case is folded")
    func onlyTheLettersOfASCIIAreFolded() {
        #expect("aZ09_\u{C4}\u{212A}İ".foldedASCII.utf8.elementsEqual("az09_\u{C4}\u{212A}İ".utf8))
    }

    @Test("Only the 22 hexadecimal digits of ASCII have a value")
    func hexadecimalDigitsAreThoseOfASCII() {
        let digits = (UInt8.min...UInt8.max).compactMap(\.hexDigit)
        #expect(digits == Array(0...9) + Array(10...15) + Array(10...15))
    }
}
