import CofferBase
import TestSupport
import Testing

@Suite("JSON values and their texts")
struct JSONValueTests {
    @Test(
        "A parsed text is written as the same text",
        arguments: [
            "null", "true", "false", "0", "-1", "9007199254740993", "9223372036854775807",
            "-9223372036854775808", "18446744073709551616", "-123456789012345678901234567890", "0.5", "1e+20",
            "\"\"", "\"é\"", "\"e\u{301}\"", "\"😀\"", "\"\\u0000\\u001f\\n\\\"\\\\\"", "[]", "{}",
            "[[],{\"a\":[1,2.5]}]", "{\"\":1,\"a.b\":{\"ä\":null}}",
        ])
    func roundTrip(_ text: String) throws {
        #expect(try JSONValue(parsing: text).jsonText() == text)
    }

    @Test("The order of keys and the spaces make no difference")
    func canonicalForm() throws {
        let value = try JSONValue(parsing: " {\"b\" : 1 ,\n\t\"a\": [ 1 , 2 ] }\r\n")
        #expect(value == ["a": [1, 2], "b": 1])
        #expect(try value.jsonText() == #"{"a":[1,2],"b":1}"#)
    }

    @Test("Escapes mean the same as what they stand for")
    func escapes() throws {
        let value = try JSONValue(parsing: #""\ud83d\ude00\u00e9\/\b\f\n\r\t""#)
        #expect(value == .string("😀é/\u{8}\u{C}\n\r\t"))
    }

    @Test(
        "Malformed JSON is refused, always with the same words",
        arguments: [
            "", " ", "nul", "truee", "tru", "{", "[", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
            "{'a':1}", "01", "-", "1.", ".5", "1e", "+1", "1e400", "NaN", "Infinity", "\"", "\"\n\"",
            "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "[1 2]", "{} {}",
            "{\"a\":1,\"a\":2}", "[1]]", "/* */1", "\u{FEFF}1",
        ])
    func malformed(_ text: String) {
        var messages: Set<String> = []
        for _ in 0..<2 {
            do throws(CofferError) {
                _ = try JSONValue(parsing: text)
                Issue.record("\(text) was read")
            } catch {
                #expect(error.code == .invalidInput)
                messages.insert(error.message)
            }
        }
        #expect(messages.count == 1)
    }

    @Test("Bytes that are not UTF-8 are refused")
    func notUTF8() {
        for bytes: [UInt8] in [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] {
            #expect(failure { _ = try JSONValue(parsing: bytes) } == .invalidInput)
        }
    }

    @Test("500 levels are read and written, 501 are neither")
    func depth() throws {
        func text(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        func value(_ depth: Int) -> JSONValue {
            (1..<depth).reduce(.array([])) { inner, _ in .array([inner]) }
        }
        #expect(try JSONValue(parsing: text(500)) == value(500))
        #expect(try value(500).jsonText() == text(500))
        #expect(failure { _ = try JSONValue(parsing: text(501)) } == .invalidInput)
        #expect(failure { _ = try JSONValue(parsing: text(100_000)) } == .invalidInput)
        #expect(failure { _ = try value(501).jsonText() } == .invalidInput)
    }

    @Test("Not-a-number and infinity are not written, nor digits that are none")
    func notNumbers() {
        for value in [JSONValue.number(.nan), .number(.infinity), .array([.number(-.infinity)])] {
            #expect(failure { _ = try value.jsonText() } == .invalidInput)
        }
        for digits in ["", "-", "1a", "01", "١", "1,\"x\":2", " 1"] {
            #expect(failure { _ = try JSONValue.bigInteger(digits).jsonText() } == .invalidInput)
        }
    }

    @Test("Fields are reached by key and by index")
    func subscripts() {
        var value: JSONValue = ["a": [1, 2.5, "x", true, nil], "c": 7]
        #expect(value["a"]?[0]?.integer == 1 && value["a"]?[1]?.double == 2.5)
        #expect(value["a"]?[2]?.string == "x" && value["a"]?[3]?.bool == true && value["a"]?[4] == .null)
        #expect(value["a"]?[5] == nil && value["a"]?[-1] == nil && value["b"] == nil && value[0] == nil)
        value["b"] = "y"
        value["a"] = nil
        #expect(value == ["b": "y", "c": 7])
    }

    @Test("A number is whole only if it is written so and fits 64 bits")
    func numbers() throws {
        let value = try JSONValue(parsing: "[1, 1.0, 1e0, 9223372036854775807, 100000000000000000000]")
        let numbers = try #require(value.array)
        #expect(numbers.map(\.integer) == [1, nil, nil, Int64.max, nil])
        #expect(numbers.map(\.double) == [1, 1, 1, 0x1p63, 1e20])
    }
}
