import CofferCrypto
import CofferVectors
import Testing

@Suite("Vector runner: counting, words and changed bytes")
struct VectorRunnerTests {
    private func run(_ contents: [UInt8], slow: Bool = false) -> VectorReport {
        VectorRunner(options: .init(includesSlow: slow)).run(contents, path: "sample.json")
    }

    /// Whatever happens, what is declared is what was counted, unless the file itself says something wrong.
    private func expectCounted(_ report: VectorReport) {
        let counted =
            report.passed + report.results.count { if case .failed = $0.verdict { true } else { false } }
        #expect(report.declared == counted + report.skipped.values.reduce(0, +))
    }

    @Test("A good file passes, and its negative control is noticed")
    func good() {
        for contents in [
            VectorSamples.gcmFile([VectorSamples.gcm]),
            VectorSamples.file("HMACSHA256", "MacTest", [VectorSamples.mac]),
            VectorSamples.file("PBKDF2-HMACSHA256", "PbkdfTest", [VectorSamples.derivation]),
        ] {
            let report = run(contents)
            #expect(report.succeeded && report.accepted == 1 && report.failed == 0)
            #expect(report.controlDetected == true)
            expectCounted(report)
        }
    }

    @Test(
        "A nonce of another size is refused, also where the test holds no message",
        arguments: [
            ("AES-GCM", 12), ("CHACHA20-POLY1305", 12), ("XCHACHA20-POLY1305", 24), ("XAES-256-GCM", 24),
        ])
    func nonceSizes(_ algorithm: String, _ right: Int) {
        func test(_ size: Int, _ tag: String, _ result: String) -> String {
            """
            "key": "\(String(repeating: "20", count: 32))", "iv": "\(String(repeating: "01", count: size))", \
            "aad": "", "msg": "", "ct": "", "tag": "\(tag)", "result": "\(result)"
            """
        }
        let zeros = String(repeating: "00", count: 16)
        let odd = [0, 8, 11, 13, 14, 16, 20, 32].filter { $0 != right }
        // As Wycheproof has them for ChaCha20-Poly1305, and with a tag.
        let tests = odd.map { test($0, "", "invalid") } + odd.map { test($0, zeros, "invalid") }
        let report = run(VectorSamples.file(algorithm, "AeadTest", tests))
        #expect(report.results.count { $0.verdict == .refused } == 2 * odd.count, "\(report.failures)")
        // Valid, they would be what the library does not offer, and no failure of it.
        let valid = run(VectorSamples.file(algorithm, "AeadTest", odd.map { test($0, zeros, "valid") }))
        #expect(valid.skipped.values.reduce(0, +) == odd.count)
        // With a nonce of the right size what is said to be valid is not, and the nonce is not the reason.
        #expect(run(VectorSamples.file(algorithm, "AeadTest", [test(right, zeros, "valid")])).failed == 1)
    }

    @Test("A number that appears twice fails")
    func duplicates() {
        let test = "\"tcId\": 7, " + VectorSamples.gcm
        let report = run(VectorSamples.gcmFile([test, test]))
        #expect(report.accepted == 1 && report.failed == 1 && !report.succeeded)
        #expect(report.failures.map(\.id) == [7])
        expectCounted(report)
    }

    @Test("More or fewer tests than declared fail", arguments: [0, 1, 3, 1_000_000_000_000])
    func counts(_ declared: Int) {
        let report = run(VectorSamples.gcmFile([VectorSamples.gcm, VectorSamples.gcm], declared: declared))
        #expect(!report.succeeded && report.failures.map(\.id) == [0])
    }

    @Test("A file without tests fails")
    func empty() {
        #expect(!run(VectorSamples.gcmFile([])).succeeded)
        #expect(run(VectorSamples.gcmFile([])).failed == 1)
    }

    @Test(
        "A file that is no vector file fails",
        arguments: [
            "", "{", "[]", "null", "{}", "{\"algorithm\": \"AES-GCM\"}",
            "{\"algorithm\": 1, \"numberOfTests\": 1}",
            "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": -1, \"testGroups\": []}",
            "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": \"1\", \"testGroups\": []}",
            "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": 1.0, \"testGroups\": []}",
            "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": 1, \"testGroups\": [{}]}",
            "{\"algorithm\": \"AES-GCM\", \"numberOfTests\": 1, \"testGroups\": {}}",
        ])
    func malformed(_ text: String) {
        let report = run(Array(text.utf8))
        #expect(!report.succeeded && report.failed == 1 && report.passed == 0)
    }

    @Test("A member that appears twice fails the file")
    func duplicateMembers() {
        let source = "\"source\": \"a\", "
        #expect(run(VectorSamples.gcmFile([VectorSamples.gcm], top: source)).succeeded)
        #expect(run(VectorSamples.gcmFile([VectorSamples.gcm], top: source + source)).failed == 1)
        let twice = VectorSamples.gcm + ", \"result\": \"valid\""
        #expect(run(VectorSamples.gcmFile([twice])).failed == 1)
    }

    @Test("Unknown words fail: result, flag, field, type, member")
    func unknownWords() {
        let test = VectorSamples.gcm
        for contents in [
            VectorSamples.gcmFile([test.replacing("\"valid\"", with: "\"Valid\"")]),
            VectorSamples.gcmFile([test.replacing("\"result\": \"valid\"", with: "\"comment\": \"\"")]),
            VectorSamples.gcmFile([test + ", \"flags\": [\"B\"]"], top: "\"notes\": {\"A\": {}}, "),
            VectorSamples.gcmFile([test + ", \"extra\": \"00\""]),
            VectorSamples.gcmFile([test], group: "\"extra\": 1, "),
            VectorSamples.gcmFile([test], top: "\"extra\": 1, "),
            VectorSamples.file("AES-GCM", "MacTest", [test]),
        ] {
            let report = run(contents)
            #expect(!report.succeeded && report.failed == 1 && report.passed == 0)
        }
    }

    @Test("An unknown algorithm is skipped as a whole and does not pass")
    func unknownAlgorithm() {
        let report = run(VectorSamples.file("AES-EAX", "AnyTest", ["\"what\": 1"], declared: 9))
        #expect(report.skipped == ["not-implemented": 9])
        #expect(report.failed == 0 && report.passed == 0 && !report.succeeded)
        expectCounted(report)
    }

    @Test("Every bit of every byte of a valid test matters")
    func changedBytes() {
        let contents = VectorSamples.gcmFile([VectorSamples.gcm], group: "\"ivSize\": 96, \"tagSize\": 128, ")
        #expect(run(contents).succeeded)
        var unnoticed: [String] = []
        for index in contents.indices {
            for bit in 0..<8 {
                var changed = contents
                changed[index] ^= 1 << UInt8(bit)
                // The number of a test is free, as long as it is not taken.
                if String(decoding: changed, as: UTF8.self).contains(/"tcId": [1-9],/),
                    changed[index] != contents[index],
                    String(decoding: contents[..<index], as: UTF8.self).hasSuffix("\"tcId\": ")
                {
                    continue
                }
                if run(changed).succeeded { unnoticed.append("byte \(index), bit \(bit)") }
            }
        }
        #expect(unnoticed.isEmpty, "\(unnoticed)")
    }

    @Test("An invalid test that is accepted fails, an acceptable one may be either")
    func expectations() {
        let invalid = VectorSamples.gcm.replacing("\"valid\"", with: "\"invalid\"")
        #expect(run(VectorSamples.gcmFile([invalid])).failed == 1)
        let wrong = VectorSamples.gcm.replacing("bddf\"", with: "bdde\"")
        #expect(run(VectorSamples.gcmFile([wrong])).failed == 1)
        let refused = run(VectorSamples.gcmFile([wrong.replacing("\"valid\"", with: "\"invalid\"")]))
        #expect(refused.succeeded && refused.refused == 1 && refused.controlDetected == nil)
        for test in [VectorSamples.gcm, wrong] {
            let either = test.replacing("\"valid\"", with: "\"acceptable\"")
            #expect(run(VectorSamples.gcmFile([either])).succeeded)
        }
    }

    @Test("An invalid test may name its one error")
    func expectedErrors() {
        let refused = VectorSamples.gcm.replacing("bddf\"", with: "bdde\"")
            .replacing("\"valid\"", with: "\"invalid\", \"expectError\": \"notAuthentic\"")
        #expect(run(VectorSamples.gcmFile([refused])).succeeded)
        let another = refused.replacing("notAuthentic", with: "corrupt")
        #expect(run(VectorSamples.gcmFile([another])).failed == 1)
    }

    @Test("Sizes that the library does not offer are skipped by name when valid, refused when not")
    func sizes() {
        let sizes = [
            (
                "\"iv\": \"000000000000000000000000\"", "\"iv\": \"0000000000000000\"",
                "unsupported-iv-size:64"
            ),
            ("\"key\": \"00000000000000000000000000000000\"", "\"key\": \"00\"", "unsupported-key-size:8"),
            ("bddf\"", "bd\"", "unsupported-tag-size:120"),
            ("bddf\"", "bddf00\"", "unsupported-tag-size:136"),
        ]
        for (old, new, reason) in sizes {
            let valid = VectorSamples.gcm.replacing(old, with: new)
            let skipped = run(VectorSamples.gcmFile([VectorSamples.gcm, valid]))
            #expect(skipped.skipped == [reason: 1] && skipped.succeeded)
            #expect(!run(VectorSamples.gcmFile([valid])).succeeded)
            let invalid = valid.replacing("\"valid\"", with: "\"invalid\"")
            #expect(run(VectorSamples.gcmFile([invalid])).refused == 1)
        }
    }

    @Test("Slow tests wait until they are asked for")
    func slow() {
        let flagged = VectorSamples.derivation + ", \"flags\": [\"Slow\"]"
        let many = VectorSamples.derivation.replacing(
            "\"iterationCount\": 1", with: "\"iterationCount\": 20000001")
        let contents = VectorSamples.file(
            "PBKDF2-HMACSHA256", "PbkdfTest", [VectorSamples.derivation, flagged, many])
        let report = run(contents)
        #expect(report.skipped == ["slow": 2] && report.succeeded)
        let asked = VectorSamples.file("PBKDF2-HMACSHA256", "PbkdfTest", [flagged])
        #expect(run(asked, slow: true).accepted == 1)
        #expect(!run(asked).succeeded)
    }

    @Test("The runner notices a derivation that accepts bad parameters or returns a wrong result")
    func derivations() {
        let invalid = VectorSamples.derivation.replacing("\"valid\"", with: "\"invalid\"")
        for (old, new) in [
            ("\"iterationCount\": 1", "\"iterationCount\": 0"),
            ("\"iterationCount\": 1", "\"iterationCount\": -1"),
            ("\"iterationCount\": 1", "\"iterationCount\": 2147483648"), ("\"dkLen\": 16", "\"dkLen\": 0"),
            ("\"dkLen\": 16", "\"dkLen\": 137438953441"), ("b605\"", "b604\""),
        ] {
            let test = invalid.replacing(old, with: new)
            #expect(test != invalid)
            let report = run(VectorSamples.file("PBKDF2-HMACSHA256", "PbkdfTest", [test]))
            #expect(report.refused == 1, "\(new)")
        }
        #expect(run(VectorSamples.file("PBKDF2-HMACSHA256", "PbkdfTest", [invalid])).failed == 1)
        let greedy = invalid.replacing("\"dkLen\": 16", with: "\"dkLen\": 2000000000")
        #expect(run(VectorSamples.file("PBKDF2-HMACSHA256", "PbkdfTest", [greedy])).failed == 1)
    }
}
