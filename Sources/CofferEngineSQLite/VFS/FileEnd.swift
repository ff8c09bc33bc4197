import CSQLite

/// Where a database file ends, and the pages that SQLite skips on the way there.
///
/// SQLite does not write a page that holds nothing. In a database that vacuums itself it still reads such a
/// page, and takes the zeros of the hole in the file for its content. Therefore a hole is filled with pages
/// of zeros, sealed like any other. So is page 1, when the first transaction of a new database writes other
/// pages before it: its plaintext bytes contain the salt, without which the owner of a crash's journal could
/// not be determined.
struct FileEnd {
    /// Where the file ends, with space for page 1 once the file has any bytes; `nil` when it has to be
    /// queried: another connection may have changed it before this one acquired the lock.
    private var end: Int64?
    /// Whether the file ends within a page, which `end` excludes.
    private var isTorn = false
    /// The number of pages that existed before. If one of them is missing, that is damage, and the page stays
    /// unreadable.
    private var former: Int64 = 0

    /// Queries the end again: a lock was acquired, or the file was truncated.
    mutating func forget() { end = nil }

    /// Fills holes from here on, but none among the first `former` pages.
    mutating func fill(behind former: UInt32) { (end, self.former) = (nil, Int64(former)) }

    /// Fills no holes: the pages that SQLite writes now existed before.
    mutating func leave() { former = Int64.max }

    /// Writes the page at `offset`, and before it the missing pages from the end of the file on, which
    /// `zeros` seals.
    mutating func write(
        _ page: SharedMemoryRegion, at offset: Int64, to file: UnderlyingFile,
        zeros: (_ number: UInt32, _ page: SharedMemoryRegion) -> Bool
    ) -> Int32 {
        let size = Int64(page.count)
        if end == nil {
            var bytes: Int64 = 0
            // SQLite distinguishes a lack of memory from other failures.
            let result = unsafe file.fileSize(&bytes)
            guard result == SQLITE_OK else { return result }
            end = bytes > 0 ? max(bytes / size, 1) * size : 0
            isTorn = bytes > size && bytes % size != 0
        }
        if let start = end, start < offset, former < offset / size {
            // Zeros would replace what is left of a page.
            guard !isTorn else { return SQLITE_IOERR_DATA_CODE }
            let sealed = Scratch(count: page.count)
            for number in max(start / size, former)..<(offset / size) {
                guard zeros(UInt32(number) + 1, sealed.region) else { return SQLITE_IOERR }
                let result = write(sealed.region, at: number * size, to: file)
                guard result == SQLITE_OK else { return result }
            }
        }
        return write(page, at: offset, to: file)
    }

    private mutating func write(_ page: SharedMemoryRegion, at offset: Int64, to file: UnderlyingFile)
        -> Int32
    {
        let result = file.write(page, at: offset)
        if end.map({ offset >= $0 }) != false { isTorn = false }
        end = result == SQLITE_OK ? end.map { max($0, offset + Int64(page.count)) } : nil
        return result
    }
}
