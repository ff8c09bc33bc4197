import CofferEngine
import Foundation
import TestSupport

/// A search of another process's writable memory.
enum ProcessScan {
    /// Whether a child's memory can be read here; a kernel may forbid it, and a sanitizer's has no end.
    static let isPossible: Bool = {
        guard !Sanitizer.isOn else { return false }
        guard let child = Helper(["sh", "-c", "echo ready; read -r line"]) else { return false }
        return (try? ProcessMemory.forEachPiece(of: child.identifier, overlap: 0) { _ in }) != nil
    }()

    /// In how many pieces of its memory each needle occurs, by name.
    static func count(_ needles: [String: [UInt8]], in process: Int32) throws -> [String: Int] {
        let longest = needles.values.map(\.count).max() ?? 0
        var matches = needles.mapValues { _ in 0 }
        try ProcessMemory.forEachPiece(of: process, overlap: longest) { piece in
            for (name, needle) in needles where ByteSearch.firstIndex(of: needle.span, in: piece) != nil {
                matches[name, default: 0] += 1
            }
        }
        return matches
    }
}
