import CofferCrypto

/// A writer of messages of SSH (RFC 4251, section 5).
struct SSHWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(byte: UInt8) { bytes.append(byte) }

    mutating func append(number: UInt32) { bytes += number.bigEndianBytes }

    mutating func append(string: [UInt8]) {
        append(number: UInt32(string.count))
        bytes += string
    }

    mutating func append(text: String) { append(string: Array(text.utf8)) }

    /// Appends a number that is not negative (mpint), from its bytes with the highest first.
    mutating func append(positive number: [UInt8]) {
        var digits = Array(number.drop { $0 == 0 })
        if let first = digits.first, first >= 0x80 { digits.insert(0, at: 0) }
        append(string: digits)
    }
}
