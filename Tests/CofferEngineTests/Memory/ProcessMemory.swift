import CofferBase
import CofferEngine
import SystemPackage
import TestSupport

/// A scan of this process's own writable memory.
enum ProcessMemory {
    /// Whether it can be; a kernel may forbid it, and with a sanitizer there would be no end to it.
    static let isReadable =
        !Sanitizer.isOn && (try? regions().first) != nil
        && (try? Descriptor.open("/proc/self/mem", .read)) != nil

    /// How often the bytes whose complements are `needles`, all of one size, occur. They are never formed
    /// here, so that the scan does not find itself.
    static func count(complementsOf needles: [[UInt8]]) throws -> Int {
        let overlap = needles.first?.count ?? 0
        let memory = try Descriptor.open("/proc/self/mem", .read)
        let pieceSize = 1 << 16
        // Cleared after each piece: the scan reaches this buffer, too.
        var piece = [UInt8](repeating: 0, count: pieceSize)
        let zeros = [UInt8](repeating: 0, count: pieceSize)
        var hits = 0
        for region in try regions() {
            var offset = region.lowerBound
            while offset < region.upperBound {
                let size = min(pieceSize, region.upperBound - offset)
                var span = piece.mutableSpan
                var target = span._mutatingExtracting(0..<size)
                // A region may be gone by now, or not be ours to read.
                guard let count = try? memory.read(at: Int64(offset), into: &target), count == size else {
                    break
                }
                hits += occurrences(of: needles, in: piece.span.extracting(0..<size), zeros: zeros)
                piece.clear()
                // Pieces overlap, so that no occurrence is cut; a few may then be counted twice.
                offset += size == pieceSize ? size - overlap : size
            }
        }
        return hits
    }

    private static func occurrences(of needles: [[UInt8]], in bytes: Span<UInt8>, zeros: [UInt8]) -> Int {
        // Most pages were never written: one native comparison spares a slow loop.
        if ConstantTime.equal(bytes, zeros.span.extracting(0..<bytes.count)) { return 0 }
        var hits = 0
        for needle in needles { hits += occurrences(of: needle, in: bytes) }
        return hits
    }

    private static func occurrences(of needle: [UInt8], in bytes: Span<UInt8>) -> Int {
        let first = ~needle[0]
        var hits = 0
        var index = 0
        let end = bytes.count - needle.count
        while index <= end {
            if bytes[index] == first {
                var length = 1
                while length < needle.count, bytes[index + length] ^ needle[length] == 0xff { length += 1 }
                if length == needle.count { hits += 1 }
            }
            index += 1
        }
        return hits
    }

    /// The writable private mappings: heap, stacks and anonymous pages.
    private static func regions() throws -> [Range<Int>] {
        let maps = try Descriptor.open("/proc/self/maps", .read)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var span = buffer.mutableSpan
            guard let count = try maps.readSome(into: &span) else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 1, fields[1].hasPrefix("rw") else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            return bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
    }
}
