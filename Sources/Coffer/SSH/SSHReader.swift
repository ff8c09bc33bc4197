import CofferEngine

/// A position in a message of SSH (RFC 4251, section 5). Every length is checked against the bytes that are
/// there, and places are returned instead of copies, because the bytes may be a private key.
struct SSHReader {
    private var at: Int
    private let end: Int

    init(_ range: Range<Int>) {
        at = range.lowerBound
        end = range.upperBound
    }

    /// Whether everything was read.
    var isAtEnd: Bool { at == end }

    mutating func byte(_ bytes: Span<UInt8>) -> UInt8? {
        guard at < end else { return nil }
        defer { at += 1 }
        return bytes[at]
    }

    mutating func number(_ bytes: Span<UInt8>) -> UInt32? {
        guard end - at >= 4 else { return nil }
        defer { at += 4 }
        return (at..<at + 4).reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
    }

    /// Reads a string and returns the place of its content.
    mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
        let start = at
        guard let count = number(bytes), Int(count) <= end - at else {
            at = start
            return nil
        }
        defer { at += Int(count) }
        return at..<at + Int(count)
    }

    /// Reads a string and returns whether its content is this text.
    mutating func skip(_ text: String, _ bytes: Span<UInt8>) -> Bool {
        guard let place = string(bytes) else { return false }
        return bytes.extracting(place).copied() == Array(text.utf8)
    }

    /// Reads a number of any size (mpint) above zero, in its only encoding, and returns the place of its
    /// digits without the zero byte of the sign.
    mutating func positive(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let place = string(bytes), let first = place.first, bytes[first] < 0x80 else { return nil }
        guard bytes[first] == 0 else { return place }
        guard place.count > 1, bytes[first + 1] >= 0x80 else { return nil }
        return first + 1..<place.upperBound
    }

    /// Reads a string as UTF-8; `nil` if it is not.
    mutating func text(_ bytes: Span<UInt8>) -> String? {
        guard let place = string(bytes) else { return nil }
        return String(validating: bytes.extracting(place).copied(), as: UTF8.self)
    }
}
