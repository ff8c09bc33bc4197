import CSQLite

/// The state of a database's file, apart from the content of its pages.
extension DatabaseFile {
    /// Whether the file contains nothing but zeros; `nil` when it cannot be read.
    var isBlank: Bool? {
        guard let size = lower.size else { return nil }
        let part = Scratch(count: codec.pageSize)
        for offset in stride(from: 0, to: size, by: codec.pageSize) {
            // Reads behind the end return zeros.
            let result = lower.read(part.region, at: offset)
            guard [SQLITE_OK, SQLITE_IOERR_SHORT_READ_CODE].contains(result) else { return nil }
            guard part.region.isZero else { return false }
        }
        return true
    }

    /// The number of whole pages; `nil` when it cannot be determined.
    var pageCount: Int64? { lower.size.map { $0 / Int64(codec.pageSize) } }

    /// Whether the file that this connection has open is no longer the one of its name.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let result = unsafe withUnsafeMutablePointer(to: &moved) {
            unsafe lower.control(SQLITE_FCNTL_HAS_MOVED, $0)
        }
        return result == SQLITE_OK && moved != 0
    }
}
