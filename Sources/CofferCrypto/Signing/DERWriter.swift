/// The encoding of public values in DER.
enum DERWriter {
    /// Returns an element with this tag and content.
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { head(tag, content.count) + content }

    /// Returns the tag and the length that precede `count` bytes of content.
    static func head(_ tag: UInt8, _ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [tag, UInt8(count)] }
        var digits: [UInt8] = []
        var rest = count
        while rest > 0 {
            digits.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(digits.count)] + digits
    }

    /// Returns an integer that is not negative, from its bytes with the highest first.
    static func positive(_ number: [UInt8]) -> [UInt8] {
        var digits = Array(number.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return element(0x02, digits)
    }
}
