import CofferCrypto

/// A writer that encodes a record field by field, with numbers in big-endian byte order.
package struct BinaryWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ number: some FixedWidthInteger & Sendable) {
        bytes += number.bigEndianBytes
    }

    package mutating func append(_ field: [UInt8]) { bytes += field }

    /// Appends the length of `field` in 4 bytes, then `field`.
    package mutating func appendLengthPrefixed(_ field: [UInt8]) {
        append(UInt32(field.count))
        bytes += field
    }

    package mutating func appendText(_ text: String) { appendLengthPrefixed(Array(text.utf8)) }

    /// Appends zeros until the record has `size` bytes; traps if it already has more.
    package mutating func pad(to size: Int) {
        precondition(bytes.count <= size)
        bytes += [UInt8](repeating: 0, count: size - bytes.count)
    }
}
