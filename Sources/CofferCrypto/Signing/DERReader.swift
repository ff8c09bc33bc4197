/// A position in DER. Only the one correct encoding of a length is read, and places are returned instead of
/// copies, because the bytes may be a private key.
struct DERReader {
    private var at: Int
    private let end: Int

    init(_ range: Range<Int>) {
        at = range.lowerBound
        end = range.upperBound
    }

    /// Whether everything was read.
    var isAtEnd: Bool { at == end }

    static let integer: UInt8 = 0x02
    static let octets: UInt8 = 0x04
    static let sequence: UInt8 = 0x30

    /// Returns the tag of the next element; `nil` if everything was read.
    func tag(_ bytes: Span<UInt8>) -> UInt8? { at < end ? bytes[at] : nil }

    /// Returns whether an element with this tag is next.
    func isNext(_ tag: UInt8, _ bytes: Span<UInt8>) -> Bool { at < end && bytes[at] == tag }

    /// Reads an element and returns the place of its content; `nil` if the element has another tag, a length
    /// in another form than DER's, or more content than there is.
    mutating func element(_ tag: UInt8, _ bytes: Span<UInt8>) -> Range<Int>? {
        guard end - at >= 2, bytes[at] == tag else { return nil }
        var start = at + 2
        var count = Int(bytes[at + 1])
        if count >= 0x80 {
            let digits = count - 0x80
            guard 1...2 ~= digits, end - start >= digits, bytes[start] != 0 else { return nil }
            count = 0
            for index in start..<start + digits { count = count << 8 | Int(bytes[index]) }
            guard count >= 0x80 else { return nil }
            start += digits
        }
        guard count <= end - start else { return nil }
        at = start + count
        return start..<at
    }

    /// Reads an integer of at least 1 and returns the place of its digits, without the zero byte of the sign.
    mutating func positive(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let content = element(Self.integer, bytes), let first = content.first, bytes[first] < 0x80
        else {
            return nil
        }
        guard bytes[first] == 0 else { return content }
        guard content.count > 1, bytes[first + 1] >= 0x80 else { return nil }
        return first + 1..<content.upperBound
    }

    /// Reads an integer of one byte.
    mutating func small(_ bytes: Span<UInt8>) -> UInt8? {
        guard let content = element(Self.integer, bytes), content.count == 1 else { return nil }
        return bytes[content.lowerBound]
    }

    /// Reads an element and returns whether its content is `expected`.
    mutating func skip(_ tag: UInt8, _ expected: [UInt8], _ bytes: Span<UInt8>) -> Bool {
        guard let content = element(tag, bytes), content.count == expected.count else { return false }
        return zip(content, expected).allSatisfy { bytes[$0] == $1 }
    }
}
