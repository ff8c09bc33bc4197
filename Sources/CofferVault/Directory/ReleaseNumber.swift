import CofferBase
import CofferCrypto

/// The number of a release of this package, such as 1.4.2.
package struct ReleaseNumber: Equatable, Sendable, CustomStringConvertible {
    /// The size of the encoded number: major, minor and patch, two bytes each.
    package static let size = 6

    package let bytes: [UInt8]

    /// Reads an encoded number; returns `nil` if it is zero, which stands for none.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.size, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }

    /// Creates a number from a text such as `1.4.2` or `1.4.2-dev`; returns `nil` if it is not one.
    package init?(_ text: String) {
        let numbers = text.utf8.prefix { $0 != UInt8(ascii: "-") }
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { UInt16(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 3 else { return nil }
        self.init(bytes: numbers.compactMap(\.self).flatMap(\.bigEndianBytes))
    }

    /// The number of this release.
    package static let current = ReleaseNumber(PackageVersion.current)

    package var description: String {
        [0, 2, 4].map { String(bytes.span.bigEndian(UInt16.self, at: $0)) }.joined(separator: ".")
    }

    /// Returns a sentence, with a space before it, that names the release that reads a vault; empty if it is
    /// not known.
    static func sentence(_ release: ReleaseNumber?) -> String {
        release.map { " Release \($0) or a later one reads it." } ?? ""
    }
}
