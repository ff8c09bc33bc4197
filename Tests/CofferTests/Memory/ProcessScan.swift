import CofferEngine
import Foundation
import SystemPackage
import TestSupport

/// A search of another process's writable memory.
enum ProcessScan {
    /// Whether a child's memory can be read here; a kernel may forbid it, and a sanitizer's has no end.
    static let isPossible: Bool = {
        guard !Sanitizer.isOn else { return false }
        guard let child = Helper(["sh", "-c", "echo ready; read -r line"]) else { return false }
        return (try? memory(child.identifier)) != nil
    }()

    /// How often each needle occurs, by name.
    static func count(_ needles: [String: [UInt8]], in process: Int32) throws -> [String: Int] {
        let memory = try memory(process)
        let longest = needles.values.map(\.count).max() ?? 0
        let pieceSize = 1 << 18
        var piece = [UInt8](repeating: 0, count: pieceSize)
        let zeros = [UInt8](repeating: 0, count: pieceSize)
        var hits = needles.mapValues { _ in 0 }
        for region in try regions(process) {
            var offset = region.lowerBound
            while offset < region.upperBound {
                let size = min(pieceSize, region.upperBound - offset)
                var span = piece.mutableSpan
                var target = span._mutatingExtracting(0..<size)
                // A region may be gone by now, or not be there to read (guard pages).
                guard let count = try? memory.read(at: Int64(offset), into: &target), count == size else {
                    break
                }
                // Most pages were never written.
                let isUntouched = ConstantTime.equal(
                    piece.span.extracting(0..<size), zeros.span.extracting(0..<size))
                for (name, needle) in needles where !isUntouched {
                    if ByteSearch.firstIndex(of: needle.span, in: piece.span.extracting(0..<size)) != nil {
                        hits[name, default: 0] += 1
                    }
                }
                // Pieces overlap, so that no occurrence is cut.
                offset += size == pieceSize ? size - longest : size
            }
        }
        return hits
    }

    private static func memory(_ process: Int32) throws -> Descriptor {
        try Descriptor.open(FilePath("/proc/\(process)/mem"), .read)
    }

    /// The writable mappings: heap, stacks, data and anonymous pages.
    private static func regions(_ process: Int32) throws -> [Range<Int>] {
        let maps = try Descriptor.open(FilePath("/proc/\(process)/maps"), .read)
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
