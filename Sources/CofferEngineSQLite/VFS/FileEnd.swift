import CSQLite

/// Where a database file ends, and the pages that SQLite leaves out on the way there.
///
/// SQLite does not write a page that holds nothing. Of a database that vacuums itself it reads such a page
/// all the same, and takes the zeros of the hole in the file for its content. So a hole gets pages of zeros,
/// sealed like any other. So does page 1, where the first transaction of a new database writes others before
/// it: its clear bytes have the salt, without which nobody could tell whose the journal of a crash is.
struct FileEnd {
    /// Where the file ends, with room for page 1 once anything is there; `nil` when it has to be asked:
    /// another connection may have changed it before this one took the lock.
    private var end: Int64?
    /// Whether the file ends within a page, which `end` leaves out.
    private var isTorn = false
    /// As many pages there were before: one of them that is missing is damage, and stays unreadable.
    private var former: Int64 = 0

    /// Asks again: a lock was taken, or the file was cut.
    mutating func forget() { end = nil }

    /// Fills holes from here on, but none among the first `former` pages.
    mutating func fill(behind former: UInt32) { (end, self.former) = (nil, Int64(former)) }

    /// Fills no holes: what SQLite writes now was there before.
    mutating func leave() { former = Int64.max }

    /// Writes the page at `offset`, and before it pages that `zeros` seals from the end of the file to there.
    mutating func write(
        _ page: SharedMemoryRegion, at offset: Int64, to file: UnderlyingFile,
        zeros: (_ number: UInt32, _ page: SharedMemoryRegion) -> Bool
    ) -> Int32 {
        let size = Int64(page.count)
        if end == nil {
            var bytes: Int64 = 0
            // SQLite tells a lack of memory from other failures.
            let result = unsafe file.fileSize(&bytes)
            guard result == SQLITE_OK else { return result }
            end = bytes > 0 ? max(bytes / size, 1) * size : 0
            isTorn = bytes > size && bytes % size != 0
        }
        if let start = end, start < offset, former < offset / size {
            // Zeros would take the place of what is left of a page.
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
