extension [UInt8] {
    /// The bytes that hexadecimal digits stand for; everything else in `hex` is passed over.
    package init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    /// `count` different bytes: 0, 1, 2 and so on.
    package static func counting(_ count: Int, from start: UInt8 = 0) -> [UInt8] {
        (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0) }
    }

    /// A copy for each bit, with that bit flipped.
    package var withEachBitFlipped: [[UInt8]] {
        (0..<count * 8).map { bit in
            var copy = self
            copy[bit / 8] ^= 1 << UInt8(bit % 8)
            return copy
        }
    }

    /// Lower-case hexadecimal digits.
    package var hex: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

/// Key sizes that no algorithm of this package takes, but for one that takes its own.
package let oddKeySizes = [0, 8, 15, 17, 31, 33, 64]

/// Nonce and IV sizes around those that are taken.
package let oddNonceSizes = [0, 8, 11, 13, 15, 17]
