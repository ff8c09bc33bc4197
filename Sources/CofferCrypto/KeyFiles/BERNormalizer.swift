import CofferBase
import CofferEngine

/// The conversion of BER, which some programs write in PKCS #12 files, to the form that `DERReader` reads:
/// every length is definite and as short as possible, and octet strings are in one piece.
struct BERNormalizer {
    /// The maximum number of elements inside each other.
    private static let deepest = 24
    private static let octets: UInt8 = 0x04
    private static let constructed: UInt8 = 0x20

    /// Returns the bytes in the converted form, in guarded memory, because they may be a private key.
    ///
    /// - Throws: `invalidInput` unless the bytes are one element in BER, without anything after it.
    static func normalized(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        var place = 0
        let size = try Self.size(bytes, &place, bytes.count, 0)
        guard place == bytes.count else {
            throw CofferError(.invalidInput, "The file has bytes after its end.")
        }
        return try GuardedBytes.filled(count: size) { (output) throws(CofferError) in
            var (place, written) = (0, 0)
            try write(bytes, &place, bytes.count, 0, &output, &written)
        }
    }

    static var malformed: CofferError {
        CofferError(.invalidInput, "The file is damaged or cut off: its structure is not complete.")
    }

    /// The head of an element: its tag, and where its content ends; `nil` if an end mark tells.
    private struct Head {
        let tag: UInt8
        let end: Int?

        var isConstructed: Bool { tag & BERNormalizer.constructed != 0 }
        /// Whether the element is an octet string in pieces.
        var isPieces: Bool { tag == BERNormalizer.octets | BERNormalizer.constructed }

        init(_ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int) throws(CofferError) {
            guard limit - place >= 2, bytes[place] & 0x1F != 0x1F, bytes[place] != 0 else {
                throw BERNormalizer.malformed
            }
            tag = bytes[place]
            let first = Int(bytes[place + 1])
            place += 2
            guard first != 0x80 else {
                guard tag & BERNormalizer.constructed != 0 else { throw BERNormalizer.malformed }
                end = nil
                return
            }
            var count = first
            if first > 0x80 {
                let digits = first - 0x80
                guard digits <= 4, limit - place >= digits else { throw BERNormalizer.malformed }
                count = 0
                for index in place..<place + digits { count = count << 8 | Int(bytes[index]) }
                place += digits
            }
            guard count <= limit - place else { throw BERNormalizer.malformed }
            end = place + count
        }

        /// Returns whether the element ends here, and passes over its end mark.
        func isAtEnd(_ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int) throws(CofferError) -> Bool {
            if let end { return place == end }
            guard limit - place >= 2 else { throw BERNormalizer.malformed }
            guard bytes[place] == 0, bytes[place + 1] == 0 else { return false }
            place += 2
            return true
        }
    }

    /// Returns the size of an element in the converted form, and moves `place` behind it.
    private static func size(
        _ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int, _ depth: Int
    ) throws(CofferError) -> Int {
        let head = try Head(bytes, &place, limit)
        let content = try contentSize(head, bytes, &place, limit, depth)
        return DERWriter.head(head.tag, content).count + content
    }

    private static func contentSize(
        _ head: Head, _ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int, _ depth: Int
    ) throws(CofferError) -> Int {
        guard depth < deepest else { throw malformed }
        guard head.isConstructed else {
            guard let end = head.end else { throw malformed }
            let count = end - place
            place = end
            return count
        }
        var count = 0
        while try !head.isAtEnd(bytes, &place, head.end ?? limit) {
            guard head.isPieces else {
                count += try size(bytes, &place, head.end ?? limit, depth + 1)
                continue
            }
            let piece = try Head(bytes, &place, head.end ?? limit)
            guard piece.tag & ~constructed == octets else { throw malformed }
            count += try contentSize(piece, bytes, &place, head.end ?? limit, depth + 1)
        }
        return count
    }

    /// Writes an element in the converted form.
    private static func write(
        _ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int, _ depth: Int,
        _ output: inout MutableSpan<UInt8>, _ written: inout Int
    ) throws(CofferError) {
        let head = try Head(bytes, &place, limit)
        var ahead = place
        let content = try contentSize(head, bytes, &ahead, limit, depth)
        let start = DERWriter.head(head.isPieces ? octets : head.tag, content)
        output.write(start.span, at: written)
        written += start.count
        try writeContent(head, bytes, &place, limit, depth, &output, &written)
    }

    private static func writeContent(
        _ head: Head, _ bytes: Span<UInt8>, _ place: inout Int, _ limit: Int, _ depth: Int,
        _ output: inout MutableSpan<UInt8>, _ written: inout Int
    ) throws(CofferError) {
        guard head.isConstructed else {
            guard let end = head.end else { throw malformed }
            output.write(bytes.extracting(place..<end), at: written)
            written += end - place
            place = end
            return
        }
        while try !head.isAtEnd(bytes, &place, head.end ?? limit) {
            guard head.isPieces else {
                try write(bytes, &place, head.end ?? limit, depth + 1, &output, &written)
                continue
            }
            let piece = try Head(bytes, &place, head.end ?? limit)
            try writeContent(piece, bytes, &place, head.end ?? limit, depth + 1, &output, &written)
        }
    }
}
