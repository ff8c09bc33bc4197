extension FixedWidthInteger where Self: Sendable {
    /// The number's bytes in big-endian order. Every format in this package stores numbers in this order.
    package var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: self >> Self($0))
        }
    }
}

extension Span<UInt8> {
    /// Returns the big-endian number at `offset`; traps if the span ends before the number does.
    @inlinable
    package func bigEndian<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
        var value: Number = 0
        for index in offset..<offset + Number.bitWidth / 8 {
            value = value << 8 | Number(truncatingIfNeeded: self[index])
        }
        return value
    }
}
