import CofferEngine

/// A scan of this process's own writable memory.
package enum OwnMemory {
    /// Whether it can be; a kernel may forbid it, and with a sanitizer there would be no end to it.
    package static let isReadable =
        !Sanitizer.isOn && (try? ProcessMemory.forEachPiece(overlap: 0) { _ in }) != nil

    /// How often the bytes whose complements are `needles`, all of one size, occur. They are never formed
    /// here, so that the scan does not find itself.
    package static func count(complementsOf needles: [[UInt8]]) throws -> Int {
        var matches = 0
        try ProcessMemory.forEachPiece(overlap: needles.first?.count ?? 0) { piece in
            for needle in needles { matches += occurrences(of: needle, in: piece) }
        }
        return matches
    }

    private static func occurrences(of needle: [UInt8], in bytes: Span<UInt8>) -> Int {
        let first = ~needle[0]
        var matches = 0
        var index = 0
        let end = bytes.count - needle.count
        while index <= end {
            if bytes[index] == first {
                var length = 1
                while length < needle.count, bytes[index + length] ^ needle[length] == 0xff { length += 1 }
                if length == needle.count { matches += 1 }
            }
            index += 1
        }
        return matches
    }
}
