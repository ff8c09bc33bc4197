import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// Functions that read and write JSON documents with secrets in guarded memory.
enum SecretJSON {
    private static let maxByteCount = 8 << 20

    // MARK: Writing

    /// Returns a JSON object on one line. The members keep their order.
    ///
    /// - Throws: `refused` for a secret that is not UTF-8, or that contains a newline or NUL: the programs
    ///   that read these documents put it into headers and signatures, where it fails without a reason.
    static func line(_ members: [(name: String, value: Token)], before: String = "") throws(CofferError)
        -> GuardedBytes
    {
        var document = try GuardedBuffer.make(limit: maxByteCount)
        try document.append("{" + before)
        for (index, member) in members.enumerated() {
            if index > 0 || !before.isEmpty { try document.append(",") }
            try document.append("\"\(member.name)\":\"")
            try member.value.exposing { (bytes) throws(CofferError) in
                guard (try? UTF8Span(validating: bytes)) != nil else {
                    throw CofferError(
                        .refused, "The stored \(member.name) is not UTF-8, which JSON requires.")
                }
                guard !breaksLine(bytes) else {
                    throw CofferError(
                        .refused,
                        "The stored \(member.name) contains a newline or a NUL byte. Store the token "
                            + "again with coffer token put; printf %s adds no newline.")
                }
                try escape(bytes, into: &document)
            }
            try document.append("\"")
        }
        try document.append("}\n")
        return try document.finish()
    }

    /// Returns whether text contains a newline or NUL.
    static func breaksLine(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") || bytes[index] == 0 {
            return true
        }
        return false
    }

    private static func escape(
        _ bytes: Span<UInt8>, into document: inout GuardedBuffer
    ) throws(CofferError) {
        var start = 0
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            try document.append(bytes.extracting(start..<index))
            let digits = String(byte, radix: 16)
            try document.append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            start = index + 1
        }
        try document.append(bytes.extracting(start..<bytes.count))
    }

    // MARK: Reading

    /// Returns the string members of a JSON object, keyed by the bytes of their names. Ignores numbers,
    /// `true`, `false` and `null`, and throws `invalidInput` for any other value.
    static func members(of document: Span<UInt8>) throws(CofferError) -> [[UInt8]: Token] {
        var reader = Reader(document)
        return try reader.object()
    }

    private struct Reader: ~Escapable {
        private let bytes: Span<UInt8>
        private var position = 0

        @_lifetime(copy bytes)
        init(_ bytes: Span<UInt8>) { self.bytes = bytes }

        private static var malformed: CofferError {
            CofferError(.invalidInput, "The input must be a JSON object whose values are strings.")
        }

        mutating func object() throws(CofferError) -> [[UInt8]: Token] {
            var members: [[UInt8]: Token] = [:]
            try take("{")
            var next: UInt8 = UInt8(ascii: ",")
            if peek() == UInt8(ascii: "}") { next = try take() }
            while next == UInt8(ascii: ",") {
                skipSpace()
                let name = try text().exposing { $0.copied() }
                try take(":")
                skipSpace()
                if peek() == UInt8(ascii: "\"") { members[name] = try text() } else { try skipWord() }
                skipSpace()
                next = try take()
            }
            skipSpace()
            guard next == UInt8(ascii: "}"), peek() == nil else { throw Self.malformed }
            return members
        }

        private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

        private mutating func take() throws(CofferError) -> UInt8 {
            guard let byte = peek() else { throw Self.malformed }
            position += 1
            return byte
        }

        private mutating func take(_ character: Unicode.Scalar) throws(CofferError) {
            skipSpace()
            guard try take() == UInt8(ascii: character) else { throw Self.malformed }
            skipSpace()
        }

        private mutating func skipSpace() {
            while let byte = peek(), [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
        }

        /// Skips a number, `true`, `false` or `null`.
        private mutating func skipWord() throws(CofferError) {
            let start = position
            while let byte = peek(), (0x30...0x7A).contains(byte) || [0x2B, 0x2D, 0x2E].contains(byte) {
                position += 1
            }
            guard position > start else { throw Self.malformed }
        }

        private mutating func text() throws(CofferError) -> Token {
            guard try take() == UInt8(ascii: "\"") else { throw Self.malformed }
            var text = try GuardedBuffer.make(limit: Token.maxByteCount)
            while true {
                let start = position
                while let byte = peek(), byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\")
                {
                    position += 1
                }
                try text.append(bytes.extracting(start..<position))
                switch try take() {
                case UInt8(ascii: "\""): return try Token(SecretBytes(text.finish()))
                case UInt8(ascii: "\\"): try text.append(escaped().utf8Bytes.span)
                default: throw Self.malformed
                }
            }
        }

        private mutating func escaped() throws(CofferError) -> Unicode.Scalar {
            switch try take() {
            case UInt8(ascii: "u"): return try unicode()
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case let byte where [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/")].contains(byte):
                return Unicode.Scalar(byte)
            default: throw Self.malformed
            }
        }

        /// Reads the digits of an escape and, for a surrogate pair, the second escape. Half a surrogate pair
        /// does not represent a character and becomes U+FFFD.
        private mutating func unicode() throws(CofferError) -> Unicode.Scalar {
            let first = try hex()
            guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count,
                bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
            else { return Unicode.Scalar(first) ?? "\u{FFFD}" }
            let back = position
            position += 2
            let second = try hex()
            guard (0xDC00..<0xE000).contains(second) else {
                position = back
                return "\u{FFFD}"
            }
            return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
        }

        private mutating func hex() throws(CofferError) -> UInt32 {
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = try take().hexDigit else {
                    throw Self.malformed
                }
                value = value << 4 | UInt32(digit)
            }
            return value
        }
    }
}

extension Unicode.Scalar {
    fileprivate var utf8Bytes: [UInt8] { Array(String(self).utf8) }
}
