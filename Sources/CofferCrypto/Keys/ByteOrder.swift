extension FixedWidthInteger where Self: Sendable {
    /// The big-endian bytes. Every format of this package stores numbers this way.
    package var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: self >> Self($0))
        }
    }
}

extension Span<UInt8> {
    /// The big-endian number at `offset`; traps if it does not fit.
    @inlinable
    package func bigEndian<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
        var value: Number = 0
        for index in offset..<offset + Number.bitWidth / 8 {
            value = value << 8 | Number(truncatingIfNeeded: self[index])
        }
        return value
    }
}
