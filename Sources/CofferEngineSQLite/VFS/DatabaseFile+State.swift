import CSQLite

/// The state of a database file, apart from the content of its pages.
extension DatabaseFile {
    /// Whether the file contains nothing but zeros; `nil` if the file cannot be read.
    var isBlank: Bool? {
        guard let size = lower.size else { return nil }
        let part = Scratch(count: codec.pageSize)
        for offset in stride(from: 0, to: size, by: codec.pageSize) {
            // The VFS below fills the buffer with zeros past the end of the file.
            let result = lower.read(part.region, at: offset)
            guard [SQLITE_OK, SQLITE_IOERR_SHORT_READ_CODE].contains(result) else { return nil }
            guard part.region.isZero else { return false }
        }
        return true
    }

    /// The number of whole pages in the file; `nil` if it cannot be determined.
    var pageCount: Int64? { lower.size.map { $0 / Int64(codec.pageSize) } }

    /// Whether the file's name no longer refers to the file that this connection has open.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let result = unsafe withUnsafeMutablePointer(to: &moved) {
            unsafe lower.control(SQLITE_FCNTL_HAS_MOVED, $0)
        }
        return result == SQLITE_OK && moved != 0
    }
}
