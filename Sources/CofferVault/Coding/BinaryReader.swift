package import CofferBase
import CofferCrypto
import CofferEngine

/// A reader that decodes a record field by field. The reader checks every length against the number of
/// remaining bytes, because the record may come from an attacker.
package struct BinaryReader {
    private let bytes: [UInt8]
    private let name: String
    private let remedy: CofferError.Remedy?
    package private(set) var position: Int

    /// Creates a reader that starts at `position`. The reader's errors contain the record's `name` and
    /// `remedy`.
    package init(
        _ bytes: [UInt8], from position: Int = 0, name: String, remedy: CofferError.Remedy? = nil
    ) {
        self.bytes = bytes
        self.position = position
        self.name = name
        self.remedy = remedy
    }

    package var remaining: Int { bytes.count - position }

    package var corruptError: CofferError { CofferError(.corrupt, "The \(name) is damaged.", remedy: remedy) }

    package mutating func take(_ count: Int) throws(CofferError) -> [UInt8] {
        guard count >= 0, count <= remaining else { throw corruptError }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    package mutating func number<Number: FixedWidthInteger & Sendable>(
        _ type: Number.Type = Number.self
    ) throws(CofferError) -> Number {
        let size = Number.bitWidth / 8
        guard size <= remaining else { throw corruptError }
        defer { position += size }
        return bytes.span.bigEndian(type, at: position)
    }

    package mutating func lengthPrefixed(limit: Int = .max) throws(CofferError) -> [UInt8] {
        let count = Int(try number(UInt32.self))
        guard count <= limit else { throw corruptError }
        return try take(count)
    }

    package mutating func text() throws(CofferError) -> String {
        guard let text = String(validating: try lengthPrefixed(), as: UTF8.self) else { throw corruptError }
        return text
    }

    package mutating func skip(_ count: Int) throws(CofferError) {
        guard count >= 0, count <= remaining else { throw corruptError }
        position += count
    }

    /// Throws `corrupt` unless all remaining bytes are zero.
    package func expectPadding() throws(CofferError) {
        guard bytes[position...].allSatisfy({ $0 == 0 }) else { throw corruptError }
    }
}
