import CofferBase
import CofferEngine

/// The encoding of a recovery key as text. No branch and no address depends on a symbol's value.
///
/// Each group holds 20 bits, most significant bits first, in four symbols, and a check symbol: the digit that
/// Luhn's algorithm in base 32 computes over the group's number (1 to 8) and the four symbols.
enum RecoveryKeyText {
    /// The symbols of Crockford's Base32, in the order of their values.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// Characters that are read as symbols, with the symbols' values.
    private static let aliases = [
        (UInt8(ascii: "O"), UInt8(0)), (UInt8(ascii: "I"), 1), (UInt8(ascii: "L"), 1),
    ]
    /// The value of a character that is no symbol.
    static let invalid: UInt8 = 0xFF
    static let bitsPerSymbol = 5

    /// Returns the text: the groups with a dash between two of them.
    static func encode(_ secret: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        let length = RecoveryKey.groupLength
        let data = length - 1
        var symbols = try GuardedBytes.zeroed(count: length)
        var text = try GuardedBytes.zeroed(count: RecoveryKey.groupCount * (length + 1) - 1)
        for group in 0..<RecoveryKey.groupCount {
            var span = symbols.mutableSpan
            for place in 0..<data {
                span[place] = bits(at: (group * data + place) * bitsPerSymbol, of: secret)
            }
            let last = check(symbols.span.extracting(..<data), group: group)
            var whole = symbols.mutableSpan
            whole[data] = last
            var output = text.mutableSpan
            for place in 0..<length {
                output[group * (length + 1) + place] = character(symbols.span[place])
            }
            if group > 0 { output[group * (length + 1) - 1] = UInt8(ascii: "-") }
        }
        return text
    }

    /// Returns the five bits of `secret` that begin at the bit `start`.
    private static func bits(at start: Int, of secret: Span<UInt8>) -> UInt8 {
        let byte = start / 8
        let next: UInt8 = byte + 1 < secret.count ? secret[byte + 1] : 0
        let pair = UInt16(secret[byte]) << 8 | UInt16(next)
        return UInt8(truncatingIfNeeded: pair >> UInt16(16 - bitsPerSymbol - start % 8)) & 31
    }

    /// Returns the check symbol for a group's symbols.
    ///
    /// - Parameters:
    ///   - symbols: The values of the group's symbols, without the check.
    ///   - group: The group's position, from 0.
    /// - Returns: The value of the check symbol.
    static func check(_ symbols: Span<UInt8>, group: Int) -> UInt8 {
        // From the right, every other digit counts twice, with the two digits of its double added.
        var sum: UInt8 = 0
        for place in 0...symbols.count {
            let digit = place == 0 ? UInt8(group + 1) : symbols[place - 1]
            let value = (symbols.count - place) % 2 == 0 ? digit << 1 : digit
            sum = (sum + (value & 31) + (value >> 5)) & 31
        }
        return (32 - sum) & 31
    }

    /// Returns the value of a character in upper or lower case; ``invalid`` if it is no symbol.
    static func value(_ character: UInt8) -> UInt8 {
        // Both cases of a letter differ only in this bit, and no digit has it clear.
        let isLetter = 0 &- (character >> 6 & 1)
        let folded = character & ~(0x20 & isLetter)
        var found: UInt8 = 0
        var value: UInt8 = 0
        for index in alphabet.indices {
            let mask = equal(folded, alphabet[index])
            found |= mask
            value |= mask & UInt8(truncatingIfNeeded: index)
        }
        for (alias, meaning) in aliases {
            let mask = equal(folded, alias)
            found |= mask
            value |= mask & meaning
        }
        return value | ~found
    }

    private static func character(_ value: UInt8) -> UInt8 {
        var character: UInt8 = 0
        for index in alphabet.indices {
            character |= equal(value, UInt8(truncatingIfNeeded: index)) & alphabet[index]
        }
        return character
    }

    /// Returns 255 if both are equal, and 0 otherwise.
    private static func equal(_ first: UInt8, _ second: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: (UInt32(first ^ second) &- 1) >> 8)
    }
}
