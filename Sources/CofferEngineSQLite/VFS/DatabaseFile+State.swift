import CSQLite

/// What the file of a database is like, without a look at what its pages say.
extension DatabaseFile {
    /// Whether there is nothing in the file but zeros; `nil` when it cannot be read.
    var isBlank: Bool? {
        guard let size = lower.size else { return nil }
        let part = Scratch(count: codec.pageSize)
        for offset in stride(from: 0, to: size, by: codec.pageSize) {
            // Behind the end there are zeros.
            let result = lower.read(part.region, at: offset)
            guard [SQLITE_OK, SQLITE_IOERR_SHORT_READ_CODE].contains(result) else { return nil }
            guard part.region.isZero else { return false }
        }
        return true
    }

    /// How many pages are there, whole; `nil` when nobody can say.
    var pageCount: Int64? { lower.size.map { $0 / Int64(codec.pageSize) } }

    /// Whether the file that this connection has open is the one of its name no more.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let result = unsafe withUnsafeMutablePointer(to: &moved) {
            unsafe lower.control(SQLITE_FCNTL_HAS_MOVED, $0)
        }
        return result == SQLITE_OK && moved != 0
    }
}
