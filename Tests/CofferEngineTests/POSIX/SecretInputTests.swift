import CofferBase
import CofferEngine
import SystemPackage
import Testing
import TestSupport

@Suite("Secret input")
struct SecretInputTests {
    /// The result of `body` for a file with these bytes.
    private func reading(
        _ bytes: [UInt8], _ body: (borrowing Descriptor) throws -> [UInt8]
    ) throws -> [UInt8] {
        let scratch = try ScratchDirectory.make()
        try scratch.write("input", bytes)
        return try body(try scratch.descriptor.open("input", .read))
    }

    private func line(_ bytes: [UInt8]) throws -> [UInt8] {
        try reading(bytes) { (file) throws in
            let line = try SecretInput.line(from: file)
            return line.span.copied()
        }
    }

    private func all(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
        try reading(bytes) { (file) throws in
            let all = try SecretInput.all(from: file, limit: limit)
            return all.span.copied()
        }
    }

    @Test(
        "A line ends at the first newline, and every other byte belongs to it",
        arguments: zip(
            ["", "\n", "1234", "1234\n", "12\n34\n", " 1 2 \r\n", "p\0q\n"],
            ["", "", "1234", "1234", "12", " 1 2 \r", "p\0q"]))
    func theFirstLine(input: String, expected: String) throws {
        #expect(try line(Array(input.utf8)) == Array(expected.utf8))
    }

    @Test(
        "On request, a carriage return before the newline is left out, and no other is",
        arguments: zip(
            ["1234\r\n", "1234\r", "12\r34\n", "1234\r\r\nx", "\r\n", "1234\n"],
            ["1234", "1234\r", "12\r34", "1234\r", "", "1234"]))
    func withoutReturn(input: String, expected: String) throws {
        let line = try reading(Array(input.utf8)) { (file) throws in
            let line = try SecretInput.line(from: file, droppingReturn: true)
            return line.span.copied()
        }
        #expect(line == Array(expected.utf8))
    }

    @Test("Reading a line leaves everything after it to the next reader")
    func readsNoFurther() throws {
        let rest = try reading(Array("first\nsecond\nthird".utf8)) { (file) throws in
            let first = try SecretInput.line(from: file)
            let second = try SecretInput.line(from: file)
            #expect(String(decoding: first.span.copied(), as: UTF8.self) == "first")
            #expect(String(decoding: second.span.copied(), as: UTF8.self) == "second")
            let rest = try SecretInput.all(from: file, limit: 5)
            return rest.span.copied()
        }
        #expect(rest == Array("third".utf8))
    }

    @Test("A line of the greatest length is read, and a longer one is refused")
    func theLongestLine() throws {
        let longest = [UInt8](repeating: 0x61, count: SecretInput.maxLineLength)
        #expect(try line(longest) == longest)
        #expect(try line(longest + [0x0a, 0x62]) == longest)
        #expect(failure { _ = try line(longest + [0x61]) } == .invalidInput)
        #expect(failure { _ = try line(longest + [0x61, 0x0a]) } == .invalidInput)
    }

    @Test(
        "Input up to the limit is read whole, and more is refused",
        arguments: [0, 1, 4095, 4096, 4097, 20_000])
    func everythingUpToTheLimit(count: Int) throws {
        let bytes = [UInt8].counting(count)
        #expect(try all(bytes, limit: count) == bytes)
        #expect(try all(bytes, limit: count + 1) == bytes)
        #expect(try all(bytes, limit: 1 << 20) == bytes)
        if count > 0 { #expect(failure { _ = try all(bytes, limit: count - 1) } == .invalidInput) }
    }

    @Test("An impossible limit is refused", arguments: [-1, Int.min, Int.max])
    func impossibleLimits(limit: Int) {
        #expect(failure { _ = try all([1], limit: limit) } == .invalidInput)
    }
}
