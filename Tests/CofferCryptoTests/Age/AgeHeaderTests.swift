import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("age headers")
struct AgeHeaderTests {
    private let identity: AgeIdentity
    private let lines: [String]
    private let payload: [UInt8]

    /// A good file: its four lines and the rest.
    init() throws {
        identity = try AgeIdentity.generate()
        let file = try AgeFiles.encrypted([1, 2, 3], to: [identity.recipient])
        let end = file.count - 16 - 3 - 16
        lines = String(decoding: file[..<end], as: UTF8.self).split(separator: "\n").map(String.init)
        payload = Array(file[end...])
    }

    private func code(_ lines: some Sequence<String>, end: String = "\n") -> CofferError.Code? {
        let head = lines.joined(separator: "\n") + end
        return AgeFiles.decrypted(Array(head.utf8) + payload, [identity]).code
    }

    @Test("The header has the grammar of the specification")
    func written() {
        #expect(lines.count == 4 && code(lines) == nil)
        #expect(lines[0] == "age-encryption.org/v1")
        #expect(lines[1].hasPrefix("-> X25519 ") && lines[1].utf8.count == 53)
        #expect(lines[2].utf8.count == 43)
        #expect(lines[3].hasPrefix("--- ") && lines[3].utf8.count == 47)
    }

    @Test("An extra stanza that is well-formed is only found by the MAC; one that is not, before it")
    func stanzas() {
        let full = String(repeating: "A", count: 64)
        let good = [
            ["-> other", ""], ["-> other a b!~ c", "AAAA"], ["-> other", full, ""],
            ["-> other", full, full, "AA"],
            ["-> x25519", ""], ["-> Scrypt", ""],
        ]
        for stanza in good {
            #expect(code([lines[0]] + stanza + lines[1...]) == .notAuthentic, "\(stanza)")
            #expect(code(lines[...2] + stanza + lines[3...]) == .notAuthentic, "\(stanza)")
        }
        let bad = [
            ["->", ""], ["-> ", ""], ["->other", ""], ["-> other ", ""], ["->  other", ""],
            [" -> other", ""],
            ["-> other\t", ""], ["-> oth\u{E9}r", ""], ["-> other\r", ""], ["-> other"], ["-> other", full],
            ["-> other", full + "A", ""], ["-> other", "A"], ["-> other", "AB"], ["-> other", "AA=="],
            ["-> other", "A A"], ["-> other", "AA\r"], ["-> other", "A_A"], ["", "-> other", ""],
            ["-> other", "AA", "AA"], ["other", ""], ["-> other", "", ""],
            ["-> scrypt", ""], ["-> X25519", ""], ["-> X25519 AAAA", "AAAA"],
        ]
        for stanza in bad {
            #expect(code([lines[0]] + stanza + lines[1...]) == .corrupt, "\(stanza)")
            #expect(code(lines[...2] + stanza + lines[3...]) == .corrupt, "\(stanza)")
        }
        #expect(code([lines[0], lines[3]]) == .corrupt, "without a stanza")
    }

    @Test("The last line is exactly three dashes, a space and the MAC")
    func lastLine() {
        let mac = String(lines[3].dropFirst(4))
        let bad = [
            "---", "--- ", "---" + mac, "---  " + mac, "--- " + mac + " ", "--- " + mac + "=",
            "--- " + mac.dropLast(),
            "--- " + mac + "AAA", "-- " + mac, "---- " + mac, "--- " + mac + "\r",
        ]
        for line in bad { #expect(code(lines[...2] + [line]) == .corrupt, "\(line)") }
        #expect(code(lines, end: "") == .corrupt)
        let other = (mac.hasPrefix("A") ? "B" : "A") + mac.dropFirst()
        #expect(code(lines[...2] + ["--- " + other]) == .notAuthentic)
    }

    @Test("Another version is named; what is no age file is not")
    func versions() {
        for line in ["age-encryption.org/v2", "age-encryption.org/v10", "age-encryption.org/v1x"] {
            #expect(code([line] + lines[1...]) == .unsupportedVersion, "\(line)")
        }
        for line in [
            "", "age-encryption.org/", "age-encryption.org/1", "age-encryption.org/v1 ",
            "age-encryption.org/v1\r",
            "Age-encryption.org/v1", " age-encryption.org/v1", "age-encryption.com/v1", "-----BEGIN",
        ] {
            #expect(code([line] + lines[1...]) == .corrupt, "\(line)")
        }
        for bytes in [
            [], [0], Array("\n\n\n".utf8), [UInt8](repeating: 0x20, count: 5000), Array("age".utf8),
        ] {
            #expect(AgeFiles.decrypted(bytes, [identity]).code == .corrupt)
        }
    }

    @Test("A header without an end is given up after 1 MiB")
    func endless() {
        struct Endless {
            var asked = 0
            mutating func read(into span: inout MutableSpan<UInt8>, _ start: [UInt8], _ line: [UInt8]) -> Int?
            {
                let bytes = asked == 0 ? start : line
                asked += 1
                let piece = Array(bytes.prefix(span.count))
                span.write(piece.span, at: 0)
                return piece.count
            }
        }
        let start = Array((lines[0] + "\n-> other\n").utf8)
        for line in [
            String(repeating: "A", count: 64) + "\n", String(repeating: "A", count: 64), "-> other\n\n",
        ] {
            var input = Endless()
            let code = failure {
                _ = try AgeReader.open(identities: [identity]) {
                    input.read(into: &$0, start, Array(line.utf8))
                }
            }
            #expect(code == .refused && input.asked < (2 << 20) / line.utf8.count)
        }
        var zeros = Endless()
        let code = failure {
            _ = try AgeReader.open(identities: [identity]) {
                zeros.read(into: &$0, [0], [UInt8](repeating: 0, count: 100))
            }
        }
        #expect(code == .corrupt && zeros.asked < 10)
    }

    @Test("Work factors outside 1 to 22 and in any other form are refused before anything is derived")
    func workFactors() throws {
        let file = try AgeFiles.encrypted([1], passphrase: "x", workFactor: 2)
        let stanza = file[22...].firstIndex(of: UInt8(ascii: "\n")) ?? 0
        func code(_ factor: String) -> CofferError.Code? {
            let changed = file[..<(stanza - 1)] + Array(factor.utf8) + file[stanza...]
            return AgeFiles.decrypted(Array(changed), passphrase: "x").code
        }
        #expect(code("2") == nil)
        for factor in ["1", "3", "10"] { #expect(code(factor) == .wrongPasscode, "\(factor)") }
        for factor in ["23", "24", "63", "64", "99", "100", "4294967297", String(repeating: "9", count: 500)]
        {
            #expect(code(factor) == .refused, "\(factor)")
        }
        for factor in ["", "0", "00", "02", "+2", "-2", " 2", "2 ", "2.", "0x2", "2a", "\u{0662}"] {
            #expect(code(factor) == .corrupt, "\(factor)")
        }
    }

    @Test("Ephemeral keys of low order are refused")
    func lowOrder() {
        let zero = String(repeating: "A", count: 43)
        #expect(code([lines[0], "-> X25519 " + zero] + lines[2...]) == .corrupt)
        let one = "AQ" + String(repeating: "A", count: 41)
        #expect(code([lines[0], "-> X25519 " + one] + lines[2...]) == .corrupt)
    }
}
