package import CofferBase
import Glibc
import CLinux
import SystemPackage

/// The writable memory of a process, which is read piece by piece.
package enum ProcessMemory {
    private static let pieceSize = 1 << 18

    /// Calls `body` with the contents of the writable mappings of the process `number` (`nil` means this
    /// process): its heap, stacks, data and anonymous pages. Pieces overlap by `overlap` bytes, so no short
    /// pattern is split between them. Pieces that contain only zeros are left out. The buffer is cleared
    /// after each piece, so a search of this process does not find the bytes that it has just read.
    ///
    /// - Throws: `permissionDenied` if the kernel forbids access to the process's memory.
    package static func forEachPiece(
        of number: Int32? = nil, overlap: Int, _ body: (Span<UInt8>) -> Void
    ) throws(CofferError) {
        let process = number.map { String($0) } ?? "self"
        let memory = try Descriptor.open(FilePath("/proc/\(process)/mem"), .read)
        var piece = [UInt8](repeating: 0, count: pieceSize)
        let zeros = [UInt8](repeating: 0, count: pieceSize)
        for region in try regions(process) {
            var offset = region.lowerBound
            while offset < region.upperBound {
                let size = min(pieceSize, region.upperBound - offset)
                var span = piece.mutableSpan
                var target = span._mutatingExtracting(0..<size)
                // A region may no longer exist, or not be readable (guard pages).
                guard let count = try? memory.read(at: Int64(offset), into: &target), count == size else {
                    break
                }
                let isUntouched = ConstantTime.equal(
                    piece.span.extracting(0..<size), zeros.span.extracting(0..<size))
                if !isUntouched {
                    body(piece.span.extracting(0..<size))
                    piece.clear()
                }
                offset += size == pieceSize ? size - overlap : size
            }
        }
    }

    /// Runs `body` while this process may read its own memory, even if the process is not dumpable.
    package static func withSelfMemory<Result>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        let before = clinux_prctl(PR_GET_DUMPABLE, 0)
        if before == 0 { _ = clinux_prctl(PR_SET_DUMPABLE, 1) }
        defer { if before == 0 { _ = clinux_prctl(PR_SET_DUMPABLE, 0) } }
        return try body()
    }

    private static func regions(_ process: String) throws(CofferError) -> [Range<Int>] {
        let maps = try Descriptor.open(FilePath("/proc/\(process)/maps"), .read)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var span = buffer.mutableSpan
            guard let count = try maps.readSome(into: &span) else { break }
            text += buffer.prefix(count)
        }
        var regions: [Range<Int>] = []
        for line in String(decoding: text, as: UTF8.self).parts(between: "\n") {
            let fields = line.parts(between: " ")
            guard fields.count > 1, fields[1].utf8.hasPrefix("rw") else { continue }
            let bounds = fields[0].parts(between: "-").compactMap { Int($0, radix: 16) }
            if bounds.count == 2 { regions.append(bounds[0]..<bounds[1]) }
        }
        return regions
    }
}
