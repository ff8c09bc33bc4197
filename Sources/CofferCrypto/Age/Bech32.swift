import CofferBase
import CofferEngine

/// Bech32 (BIP 173) for 32 bytes under a known prefix, as age writes recipients and identities.
///
/// The text of an identity is secret, so the time that coding takes does not depend on the bytes. Every value
/// has exactly one text: the case of the letters is fixed, and bits that encode nothing must be zero.
struct Bech32 {
    /// The part of the text before the separator, in lowercase letters.
    private let prefix: [UInt8]
    /// The prefix and the separator as they are written.
    private let start: [UInt8]
    private let alphabet: [UInt8]

    /// The text of a recipient.
    static let recipient = Bech32("age", isUppercase: false)
    /// The text of an identity.
    static let identity = Bech32("age-secret-key-", isUppercase: true)

    private static let size = 32
    /// The number of characters that encode the bytes.
    private static let symbols = (size * 8 + 4) / 5
    private static let checksumSize = 6

    private init(_ prefix: String, isUppercase: Bool) {
        func written(_ text: String) -> [UInt8] {
            text.utf8.map { isUppercase && $0 >= UInt8(ascii: "a") ? $0 - 0x20 : $0 }
        }
        self.prefix = Array(prefix.utf8)
        start = written(prefix + "1")
        alphabet = written("qpzry9x8gf2tvdw0s3jn54khce6mua7l")
    }

    /// The length of the text.
    var textSize: Int { start.count + Self.symbols + Self.checksumSize }

    /// Returns the text of 32 bytes.
    func encode(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        guard bytes.count == Self.size else { throw CofferError.wrongKeySize(bytes.count) }
        var values = try GuardedBytes.zeroed(count: Self.symbols + Self.checksumSize)
        var target = values.mutableSpan
        var (held, bits, next) = (UInt32(0), 0, 0)
        for index in bytes.indices {
            held = (held << 8 | UInt32(bytes[index])) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                target[next] = UInt8(held >> UInt32(bits) & 31)
                next += 1
            }
        }
        target[next] = UInt8(held << UInt32(5 - bits) & 31)
        let sum = checksum(values.span) ^ 1
        var end = values.mutableSpan
        for index in 0..<Self.checksumSize {
            end[Self.symbols + index] = UInt8(sum >> UInt32(5 * (5 - index)) & 31)
        }
        return try GuardedBytes.filled(count: textSize) { (text) throws(CofferError) in
            text.write(start.span, at: 0)
            for index in 0..<Self.symbols + Self.checksumSize {
                text[start.count + index] = character(values.span[index])
            }
        }
    }

    /// Returns the bytes that `text` encodes, or `nil` if it is not such a text.
    func decode(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes? {
        guard text.count == textSize else { return nil }
        for index in start.indices where text[index] != start[index] { return nil }
        var values = try GuardedBytes.zeroed(count: Self.symbols + Self.checksumSize)
        var symbols = values.mutableSpan
        var unknown: UInt8 = 0
        for index in 0..<Self.symbols + Self.checksumSize {
            let (value, isKnown) = self.value(of: text[start.count + index])
            symbols[index] = value
            unknown |= isKnown ^ 1
        }
        guard unknown == 0, checksum(values.span) == 1 else { return nil }
        var bytes = try GuardedBytes.zeroed(count: Self.size)
        var target = bytes.mutableSpan
        var (held, bits, next) = (UInt32(0), 0, 0)
        for index in 0..<Self.symbols {
            held = (held << 5 | UInt32(values.span[index])) & 0xFFF
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            target[next] = UInt8(held >> UInt32(bits) & 255)
            next += 1
        }
        guard held & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }

    /// The checksum of the prefix and the values: 1 where the last six values are right, and those six values
    /// plus 1 where they are zero.
    private func checksum(_ values: Span<UInt8>) -> UInt32 {
        var sum: UInt32 = 1
        func add(_ value: UInt8, to sum: inout UInt32) {
            let top = sum >> 25
            sum = (sum & 0x1FF_FFFF) << 5 ^ UInt32(value)
            let generators: [5 of UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]
            for bit in 0..<5 { sum ^= generators[bit] & (0 &- (top >> UInt32(bit) & 1)) }
        }
        for byte in prefix { add(byte >> 5, to: &sum) }
        add(0, to: &sum)
        for byte in prefix { add(byte & 31, to: &sum) }
        for index in values.indices { add(values[index], to: &sum) }
        return sum
    }

    /// All ones if both values are equal, otherwise zero.
    private func mask(_ left: UInt8, _ right: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: (UInt32(left ^ right) &- 1) >> 24)
    }

    private func character(_ value: UInt8) -> UInt8 {
        var found: UInt8 = 0
        for index in alphabet.indices { found |= alphabet[index] & mask(UInt8(index), value) }
        return found
    }

    /// The value of a character, and 1 if the alphabet contains it.
    private func value(of character: UInt8) -> (UInt8, UInt8) {
        var (value, isKnown) = (UInt8(0), UInt8(0))
        for index in alphabet.indices {
            let mask = self.mask(alphabet[index], character)
            value |= UInt8(index) & mask
            isKnown |= 1 & mask
        }
        return (value, isKnown)
    }
}
