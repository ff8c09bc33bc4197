@testable import CofferOAuth
import Coffer
import CofferBase
import Testing
import TestSupport

@Suite("JSON in guarded memory")
struct GuardedJSONTests {
    static let refused: [String] = [
        "", " ", "null", "[]", "\"a\"", "1", "{", "}", "{}x", "{} {}", "\u{FEFF}{}", "{,}", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\":[1,]}", "{\"a\":[,]}",
        "{\"a\":nul}", "{\"a\":True}", "{\"a\":NaN}", "{\"a\":Infinity}", "{\"a\":1}//", "{/**/}",
        // Numbers.
        "{\"a\":01}", "{\"a\":+1}", "{\"a\":.5}", "{\"a\":1.}", "{\"a\":1e}", "{\"a\":1e+}", "{\"a\":-}",
        "{\"a\":-01}", "{\"a\":0x1}", "{\"a\":1.e1}", "{\"a\":--1}", "{\"a\":1e+-1}",
        // Strings.
        "{\"a\":\"}", "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\u12G4\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\\udc00\"}", "{\"a\":\"\\ud800\\ud800\"}",
        "{\"a\":\"\\ud800x\"}", "{\"a\":\"\\ud800\\n\"}", "{\"a\":\"\\U0041\"}", "{\"a\":\"\\",
        // Duplicate names, plain, escaped and nested.
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{\"b\":{\"a\":1,\"a\":1}}",
        "{\"b\":[{\"a\":1,\"\\u0061\":1}]}", "{\"\\/\":1,\"/\":1}",
    ]

    @Test("What is not exactly a JSON object is refused", arguments: refused)
    func refuses(_ text: String) {
        #expect(failure { _ = try json(text) } == .serverMalformed)
    }

    @Test(
        "Bytes that are not UTF-8 are refused, in names, in values and elsewhere",
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func refusesBytes(_ bytes: [UInt8]) {
        let documents = [
            Array("{\"a\":\"".utf8) + bytes + Array("\"}".utf8),
            Array("{\"".utf8) + bytes + Array("\":1}".utf8), Array("{}".utf8) + bytes,
        ]
        for document in documents {
            #expect(failure { _ = try GuardedJSON(copying: document.span) } == .serverMalformed)
        }
    }

    @Test("Depth, number of values, size and names have limits")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "{\"a\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
        }
        #expect(throws: Never.self) { _ = try json(nested(16)) }
        #expect(failure { _ = try json(nested(17)) } == .serverMalformed)
        #expect(
            failure { _ = try json("{\"a\":" + String(repeating: "[", count: 100_000)) } == .serverMalformed)
        func list(_ count: Int) -> String {
            "{\"a\":[" + Array(repeating: "1", count: count).joined(separator: ",") + "]}"
        }
        #expect(throws: Never.self) { _ = try json(list(GuardedJSON.maxValueCount - 1)) }
        #expect(failure { _ = try json(list(GuardedJSON.maxValueCount)) } == .serverMalformed)
        let name = String(repeating: "n", count: 1024)
        #expect(throws: Never.self) { _ = try json("{\"\(name)\":1}") }
        #expect(failure { _ = try json("{\"\(name)n\":1}") } == .serverMalformed)
        let space = String(repeating: " ", count: GuardedJSON.maxByteCount - 2)
        #expect(throws: Never.self) { _ = try json("{}" + space) }
        #expect(failure { _ = try json("{} " + space) } == .serverMalformed)
        #expect(
            failure { _ = try GuardedJSON(copying: Array("{ }".utf8).span, limit: 2) } == .serverMalformed)
    }

    @Test("No part of a document is in the error's message")
    func quiet() {
        do {
            _ = try json("{\"access_token\":\"s3cr3t\",\"access_token\":\"s3cr3t\"}")
            Issue.record("A duplicate name was accepted.")
        } catch {
            #expect(!"\(error)".contains("s3cr3t"))
        }
    }

    @Test("Strings are decoded, secret or not")
    func strings() throws {
        let cases: [(String, String)] = [
            ("", ""), ("plain", "plain"), ("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\u{8}\u{C}\n\r\t"),
            ("\\u0000", "\0"), ("\\u0041\\u00e9\\u20AC", "A\u{E9}\u{20AC}"), ("\\ud83d\\uDE00", "\u{1F600}"),
            ("\\uD800\\uDC00\\uDBFF\\uDFFF", "\u{10000}\u{10FFFF}"), ("\u{E9}\u{1F600}", "\u{E9}\u{1F600}"),
            ("\\ufffd\\uffff", "\u{FFFD}\u{FFFF}"), ("\\\\u0041", "\\u0041"),
        ]
        for (written, meant) in cases {
            let root = try json("{\"a\":\"\(written)\"}").root
            #expect(try root.text("a").map { Array($0.utf8) } == Array(meant.utf8))
            #expect(try text(root.secret("a", limit: 64)).map { Array($0.utf8) } == Array(meant.utf8))
        }
    }

    @Test("Members have one type; null counts as absent")
    func types() throws {
        let root = try json(
            " {\"s\":\"x\",\"n\":-12.5e+3,\"i\":9223372036854775807,\"b\":9223372036854775808,\"t\":true,"
                + "\"f\":false,\"z\":null,\"o\":{\"p\":[]},\"l\":[\"x\",\"y\"],\"m\":[1]}\r\n\t"
        ).root
        #expect(root.number("n") == "-12.5e+3")
        #expect(try root.integer("i") == .max)
        #expect(try root.bool("t") == true)
        #expect(try root.bool("f") == false)
        #expect(try !root.has("z") && root.text("z") == nil && root.integer("z") == nil)
        #expect(try root.object("o")?.names == ["p"])
        #expect(try root.texts("l") == ["x", "y"])
        #expect(try root.texts("s") == ["x"])
        #expect(try root.texts("none").isEmpty)
        #expect(failure { _ = try root.integer("n") } == .serverMalformed)
        #expect(failure { _ = try root.integer("b") } == .serverMalformed)
        #expect(failure { _ = try root.text("i") } == .serverMalformed)
        #expect(failure { _ = try root.secret("i", limit: 9) } == .serverMalformed)
        #expect(failure { _ = try root.bool("s") } == .serverMalformed)
        #expect(failure { _ = try root.object("l") } == .serverMalformed)
        #expect(failure { _ = try root.texts("m") } == .serverMalformed)
        #expect(failure { _ = try root.secret("s", limit: 0) } == .serverMalformed)
        #expect(failure { _ = try root.text("s", limit: 0) } == .serverMalformed)
    }
}
