import CofferBase
import CofferEngine

/// The strict parser behind ``GuardedJSON``. It keeps ranges and the unescaped bytes of names, and nothing
/// else of the text.
struct GuardedJSONReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var at = 0
    private var values = 0

    @_lifetime(copy bytes)
    private init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Returns the members of the object that `bytes` contains.
    static func members(of bytes: Span<UInt8>) throws(CofferError) -> [[UInt8]: GuardedJSON.Value] {
        // Every delimiter is ASCII, so the pieces of valid UTF-8 are valid, too.
        guard (try? UTF8Span(validating: bytes)) != nil else {
            throw GuardedJSON.malformed("it is not UTF-8")
        }
        var reader = GuardedJSONReader(bytes)
        reader.skipSpace()
        guard reader.next == UInt8(ascii: "{") else { throw GuardedJSON.malformed("it is not an object") }
        let members = try reader.object(depth: 1)
        reader.skipSpace()
        guard reader.next == nil else { throw GuardedJSON.malformed("there is text after the object") }
        return members
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    private mutating func value(depth: Int) throws(CofferError) -> GuardedJSON.Value {
        skipSpace()
        values += 1
        guard values <= GuardedJSON.maxValueCount else {
            throw GuardedJSON.malformed("it contains too many values")
        }
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func word(_ word: StaticString) throws(CofferError) {
        for byte in Array(word.description.utf8) {
            guard next == byte else { throw GuardedJSON.malformed("a value is expected") }
            at += 1
        }
    }

    /// Enters an object or an array, behind its first bracket.
    private mutating func enter(_ depth: Int) throws(CofferError) {
        guard depth <= GuardedJSON.maxDepth else {
            throw GuardedJSON.malformed("it is nested more than \(GuardedJSON.maxDepth) levels deep")
        }
        at += 1
        skipSpace()
    }

    private mutating func object(depth: Int) throws(CofferError) -> [[UInt8]: GuardedJSON.Value] {
        try enter(depth)
        var members: [[UInt8]: GuardedJSON.Value] = [:]
        if take("}") { return members }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw GuardedJSON.malformed("a name is expected") }
            let range = try string()
            guard range.count <= GuardedJSON.maxNameByteCount else {
                throw GuardedJSON.malformed("a name is too long")
            }
            let name = try JSONStringDecoder.bytes(of: bytes.extracting(range))
            skipSpace()
            guard take(":") else { throw GuardedJSON.malformed("a colon is expected") }
            let value = try value(depth: depth)
            guard members.updateValue(value, forKey: name) == nil else {
                throw GuardedJSON.malformed("an object contains a duplicate name")
            }
            skipSpace()
        } while take(",")
        guard take("}") else { throw GuardedJSON.malformed("a comma or a closing brace is expected") }
        return members
    }

    private mutating func array(depth: Int) throws(CofferError) -> [GuardedJSON.Value] {
        try enter(depth)
        var elements: [GuardedJSON.Value] = []
        if take("]") { return elements }
        repeat {
            elements.append(try value(depth: depth))
            skipSpace()
        } while take(",")
        guard take("]") else { throw GuardedJSON.malformed("a comma or a closing bracket is expected") }
        return elements
    }

    /// Reads a string and returns the range between its quotation marks. Its escape sequences are checked
    /// here, so that a document with a bad one is refused even if nobody asks for that member.
    private mutating func string() throws(CofferError) -> Range<Int> {
        at += 1
        let start = at
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return start..<at - 1
            case UInt8(ascii: "\\"):
                at += 1
                try checkEscape()
            case 0..<0x20: throw GuardedJSON.malformed("a string contains an unescaped control character")
            default: at += 1
            }
        }
        throw GuardedJSON.malformed("a string is not terminated")
    }

    private mutating func checkEscape() throws(CofferError) {
        let invalid = GuardedJSON.malformed("a string contains an invalid escape sequence")
        guard let byte = next else { throw invalid }
        at += 1
        guard byte == UInt8(ascii: "u") else {
            guard "\"\\/bfnrt".utf8.contains(byte) else { throw invalid }
            return
        }
        let first = try hexadecimal()
        guard (0xD800..<0xE000).contains(first) else { return }
        guard first < 0xDC00, take("\\"), take("u"), (0xDC00..<0xE000).contains(try hexadecimal()) else {
            throw GuardedJSON.malformed("a string contains half a surrogate pair")
        }
    }

    private mutating func hexadecimal() throws(CofferError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next?.hexDigit else {
                throw GuardedJSON.malformed("four hexadecimal digits are expected")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }

    private mutating func number() throws(CofferError) -> Range<Int> {
        let start = at
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return start..<at
    }

    private mutating func digits() throws(CofferError) {
        let start = at
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { at += 1 }
        guard at > start else { throw GuardedJSON.malformed("a value is expected") }
    }
}
