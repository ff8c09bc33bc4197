import CSQLite

/// The end of a database file. This type fills the holes that SQLite would leave when it writes past the end.
///
/// SQLite does not write an unused page. In a database with `auto_vacuum`, it still reads such a page and
/// treats the zeros of the hole in the file as the page's content. Therefore this type fills a hole with
/// pages of zeros, sealed like any other page. It also fills in page 1 if the first transaction of a new
/// database writes other pages first: the plaintext bytes of page 1 contain the salt, and without it a
/// journal left by a crash could not be matched to its key.
struct FileEnd {
    /// The end of the file, which includes space for page 1 once the file has any bytes. `nil` if the end
    /// must be queried, because another connection may have changed it before this one acquired the lock.
    private var end: Int64?
    /// Whether the file ends within a page, which ``end`` excludes.
    private var isTorn = false
    /// The number of pages that must already exist. A missing page among them is damage and stays unreadable.
    private var former: Int64 = 0

    /// Forgets the end, so the next write queries it. Call this method after acquiring a lock or truncating
    /// the file.
    mutating func forget() { end = nil }

    /// Fills holes from now on, except among the first `former` pages.
    mutating func fill(behind former: UInt32) { (end, self.former) = (nil, Int64(former)) }

    /// Fills no holes from now on: the pages that SQLite writes next existed before.
    mutating func leave() { former = Int64.max }

    /// Writes the page at `offset`. First fills the gap between the end of the file and `offset` with pages
    /// that `zeros` seals.
    mutating func write(
        _ page: SharedMemoryRegion, at offset: Int64, to file: UnderlyingFile,
        zeros: (_ number: UInt32, _ page: SharedMemoryRegion) -> Bool
    ) -> Int32 {
        let size = Int64(page.count)
        if end == nil {
            var bytes: Int64 = 0
            // Return the result code, because SQLite distinguishes a lack of memory from other failures.
            let result = unsafe file.fileSize(&bytes)
            guard result == SQLITE_OK else { return result }
            end = bytes > 0 ? max(bytes / size, 1) * size : 0
            isTorn = bytes > size && bytes % size != 0
        }
        if let start = end, start < offset, former < offset / size {
            // A page of zeros would replace what remains of a torn page.
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
