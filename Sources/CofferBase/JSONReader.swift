extension JSONValue {
    /// Creates a value by parsing a JSON text.
    ///
    /// - Throws: `invalidInput`, with the position, if the text is not valid under RFC 8259, has a duplicate
    ///   key or a number outside the range of `Double`, or is nested more than 500 levels deep.
    public init(parsing text: String) throws(CofferError) { try self.init(parsing: Array(text.utf8)) }

    /// Creates a value by parsing the bytes of a JSON text.
    ///
    /// - Throws: `invalidInput` under the same conditions as ``init(parsing:)-(String)``, and also if the
    ///   bytes are not UTF-8.
    public init(parsing bytes: [UInt8]) throws(CofferError) {
        self = try SyntaxFault.asError { () throws(SyntaxFault) in try JSONReader.value(of: bytes) }
    }

    /// Parses the bytes of a JSON text, and finds the line of each value.
    ///
    /// - Returns: The value, and the line of every value in it, by the keys and indices that lead there. The
    ///   line of a member is that of its key.
    /// - Throws: The first fault, under the same conditions as ``init(parsing:)-(String)``, and also if the
    ///   bytes are not UTF-8.
    package static func parsingLines(
        of bytes: [UInt8]
    ) throws(SyntaxFault) -> (value: JSONValue, lines: [[String]: Int]) {
        try JSONReader.valueAndLines(of: bytes)
    }
}

/// A parser that requires strict JSON as defined by RFC 8259: one value, valid UTF-8, no duplicate keys and a
/// bounded depth.
private struct JSONReader {
    private let bytes: [UInt8]
    private var at = 0
    /// The line of each value by its path; `nil` if the lines are not wanted.
    private var lines: [[String]: Int]?
    private var path: [String] = []
    /// A position and its line, from which the next line is counted.
    private var counted = (at: 0, line: 1)

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    fileprivate static func value(of bytes: [UInt8]) throws(SyntaxFault) -> JSONValue {
        var reader = JSONReader(bytes)
        return try reader.whole()
    }

    fileprivate static func valueAndLines(
        of bytes: [UInt8]
    ) throws(SyntaxFault) -> (value: JSONValue, lines: [[String]: Int]) {
        var reader = JSONReader(bytes)
        reader.lines = [:]
        let value = try reader.whole()
        return (value, reader.lines ?? [:])
    }

    private mutating func whole() throws(SyntaxFault) -> JSONValue {
        skipSpace()
        noteLine()
        let value = try value(depth: 0)
        skipSpace()
        guard at == bytes.count else { throw malformed("there is text after the value") }
        return value
    }

    private func malformed(_ reason: String) -> SyntaxFault {
        let line = counted.line + bytes[counted.at..<min(at, bytes.count)].count { $0 == 0x0A }
        return SyntaxFault(
            line: line, message: "The JSON text is invalid at byte \(at) (line \(line)): \(reason).")
    }

    /// Notes the line at the present position for the present path. Counts each byte of the text once.
    private mutating func noteLine() {
        guard lines != nil else { return }
        counted = (at, counted.line + bytes[counted.at..<at].count { $0 == 0x0A })
        lines?[path] = counted.line
    }

    /// Notes the line of a member's key, which began at `start`.
    private mutating func noteLine(of key: String, at start: Int) {
        counted = (start, counted.line + bytes[counted.at..<start].count { $0 == 0x0A })
        lines?[path + [key]] = counted.line
    }

    /// Reads a value as the member or element `name`.
    private mutating func value(as name: String, depth: Int) throws(SyntaxFault) -> JSONValue {
        guard lines != nil else { return try value(depth: depth) }
        path.append(name)
        defer { path.removeLast() }
        if lines?[path] == nil { noteLine() }
        return try value(depth: depth)
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    private mutating func value(depth: Int) throws(SyntaxFault) -> JSONValue {
        skipSpace()
        guard let next else { throw malformed("the text ends where a value is expected") }
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw malformed("a value is expected")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(SyntaxFault) -> JSONValue {
        let expected = Array(word.description.utf8)
        guard bytes.count - at >= expected.count, bytes[at..<at + expected.count].elementsEqual(expected)
        else { throw malformed("only true, false and null are valid literals") }
        at += expected.count
        return value
    }

    private mutating func enter(_ depth: Int) throws(SyntaxFault) {
        guard depth <= JSONValue.maximumDepth else {
            throw malformed("values are nested more than \(JSONValue.maximumDepth) levels deep")
        }
        at += 1
        skipSpace()
    }

    private mutating func object(depth: Int) throws(SyntaxFault) -> [String: JSONValue] {
        try enter(depth)
        var fields: [String: JSONValue] = [:]
        if take("}") { return fields }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw malformed("a key must be a string") }
            let start = at
            let key = try string()
            if lines != nil { noteLine(of: key, at: start) }
            skipSpace()
            guard take(":") else { throw malformed("a colon is expected") }
            let value = try value(as: key, depth: depth)
            guard fields.updateValue(value, forKey: key) == nil else {
                throw malformed("an object contains a duplicate key")
            }
            skipSpace()
        } while take(",")
        guard take("}") else { throw malformed("a comma or a closing brace is expected") }
        return fields
    }

    private mutating func array(depth: Int) throws(SyntaxFault) -> [JSONValue] {
        try enter(depth)
        var elements: [JSONValue] = []
        if take("]") { return elements }
        repeat {
            skipSpace()
            elements.append(try value(as: elements.count.description, depth: depth))
            skipSpace()
        } while take(",")
        guard take("]") else { throw malformed("a comma or a closing bracket is expected") }
        return elements
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }
}

extension JSONReader {
    private mutating func string() throws(SyntaxFault) -> String {
        at += 1
        var unescaped: [UInt8] = []
        var start = at
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                unescaped += bytes[start..<at]
                guard let text = String(validating: unescaped, as: UTF8.self) else {
                    throw malformed("the preceding string is not valid UTF-8")
                }
                at += 1
                return text
            case UInt8(ascii: "\\"):
                unescaped += bytes[start..<at]
                at += 1
                try escape(into: &unescaped)
                start = at
            case 0..<0x20: throw malformed("a string contains an unescaped control character")
            default: at += 1
            }
        }
        throw malformed("a string is not terminated")
    }

    private mutating func escape(into text: inout [UInt8]) throws(SyntaxFault) {
        guard let byte = next else { throw malformed("a string is not terminated") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(try escapedScalar()).utf8
        default: throw malformed("a string contains an invalid escape sequence")
        }
    }

    /// Reads one `\u` escape, or the two of a surrogate pair, and returns the scalar.
    private mutating func escapedScalar() throws(SyntaxFault) -> Unicode.Scalar {
        let first = try hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), take("\\"), take("u") else {
            throw malformed("a string contains an unpaired surrogate")
        }
        let second = try hexadecimal()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw malformed("a string contains an unpaired surrogate") }
        return scalar
    }

    private mutating func hexadecimal() throws(SyntaxFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = byte.hexDigit else {
                throw malformed("four hexadecimal digits are expected")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }

    private mutating func number() throws(SyntaxFault) -> JSONValue {
        let start = at
        var isWhole = true
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") {
            isWhole = false
            try digits()
        }
        if take("e") || take("E") {
            isWhole = false
            _ = take("+") || take("-")
            try digits()
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if isWhole { return Int64(text).map { .integer($0) } ?? .bigInteger(text) }
        guard let double = Double(text), double.isFinite else { throw malformed("a number is out of range") }
        return .number(double)
    }

    private mutating func digits() throws(SyntaxFault) {
        let start = at
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { at += 1 }
        guard at > start else { throw malformed("a digit is expected") }
    }
}
