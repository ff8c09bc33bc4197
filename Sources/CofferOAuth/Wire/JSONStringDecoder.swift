import CofferBase
import CofferEngine

/// The decoder of JSON strings: from the bytes between the quotation marks to the bytes that they stand for.
enum JSONStringDecoder {
    private static func malformed(_ reason: String) -> CofferError {
        GuardedJSON.malformed("a string contains \(reason)")
    }

    /// Decodes a string.
    ///
    /// - Parameters:
    ///   - source: The escaped bytes, which are valid UTF-8.
    ///   - target: Memory of at least the same size: no escape sequence is shorter than its character.
    /// - Returns: The number of bytes written.
    /// - Throws: `serverMalformed` if an escape sequence is invalid or half a surrogate pair.
    static func decode(
        _ source: Span<UInt8>, into target: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int {
        var read = 0
        var written = 0
        while read < source.count {
            let byte = source[read]
            read += 1
            guard byte == UInt8(ascii: "\\") else {
                target[written] = byte
                written += 1
                continue
            }
            let scalar = try escape(source, &read)
            var rest = UnicodeBytes(scalar)
            while let next = rest.next() {
                target[written] = next
                written += 1
            }
        }
        return written
    }

    /// Decodes a string that is not secret.
    static func bytes(of source: Span<UInt8>) throws(CofferError) -> [UInt8] {
        guard source.indices.contains(where: { source[$0] == UInt8(ascii: "\\") }) else {
            return source.copied()
        }
        var count = 0
        let decoded = try GuardedBytes.filled(count: source.count) { (target) throws(CofferError) in
            count = try decode(source, into: &target)
        }
        return decoded.span.extracting(0..<count).copied()
    }

    /// Reads the escape sequence whose backslash is before `at`.
    private static func escape(_ source: Span<UInt8>, _ at: inout Int) throws(CofferError) -> Unicode.Scalar {
        guard at < source.count else { throw malformed("half an escape sequence") }
        let byte = source[at]
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar(source, &at)
        default: throw malformed("an invalid escape sequence")
        }
    }

    /// Reads the digits of one `\u` escape, or those of the two of a surrogate pair.
    private static func scalar(_ source: Span<UInt8>, _ at: inout Int) throws(CofferError) -> Unicode.Scalar {
        let first = try hexadecimal(source, &at)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, at + 1 < source.count, source[at] == UInt8(ascii: "\\"),
            source[at + 1] == UInt8(ascii: "u")
        else { throw malformed("half a surrogate pair") }
        at += 2
        let second = try hexadecimal(source, &at)
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw malformed("half a surrogate pair") }
        return scalar
    }

    private static func hexadecimal(_ source: Span<UInt8>, _ at: inout Int) throws(CofferError) -> UInt32 {
        guard source.count - at >= 4 else { throw malformed("half an escape sequence") }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = source[at].hexDigit else { throw malformed("an invalid escape sequence") }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }
}

/// The UTF-8 bytes of one character, without a `String` or an array of them.
private struct UnicodeBytes {
    private let value: UInt32
    private let count: Int
    private var done = 0

    init(_ scalar: Unicode.Scalar) {
        value = scalar.value
        count = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4
    }

    /// Returns the next byte; `nil` after the last.
    mutating func next() -> UInt8? {
        guard done < count else { return nil }
        defer { done += 1 }
        let bits = UInt8(truncatingIfNeeded: value >> UInt32(6 * (count - 1 - done)))
        if done > 0 { return 0x80 | (bits & 0x3F) }
        switch count {
        case 1: return bits
        case 2: return 0xC0 | (bits & 0x1F)
        case 3: return 0xE0 | (bits & 0x0F)
        default: return 0xF0 | (bits & 0x07)
        }
    }
}
