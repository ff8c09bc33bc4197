import CofferBase
package import SystemPackage

/// The short texts in /proc and /sys in which the kernel reports its state.
package enum ProcFile {
    private static let maxByteCount = 1 << 20

    /// Returns the text of the file at `path`, without trailing newlines, or `nil` if the file cannot be
    /// read.
    package static func read(_ path: FilePath) -> String? {
        guard let file = try? Descriptor.open(path, [.read, .nonBlocking]) else { return nil }
        var bytes: [UInt8] = []
        // The kernel reports no size for such files, and returns some of them one page at a time.
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < maxByteCount {
            var span = buffer.mutableSpan
            guard let count = try? file.read(at: Int64(bytes.count), into: &span) else { return nil }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
