import CSQLite

/// The rollback journal: headers and page numbers in clear, page images encrypted like the pages themselves.
///
/// A record is page number (4), page, checksum (4) over the page as SQLite sees it; on the disk it is over
/// the ciphertext, as in SQLCipher's journals, so it is shifted by the difference.
final class JournalFile: ShimFile {
    private let main: MainFile
    private let scratch: Scratch
    private let small = Scratch(count: 8)

    private struct Record {
        var number: UInt32
        var offset: Int64
    }
    /// The number last read or written, and where the page belongs that may follow.
    private var number: Record?
    private struct Sum {
        var offset: Int64
        /// What the checksum on the disk is more than SQLite's own.
        var shift: UInt32
        /// What to answer whatever is on the disk.
        var answer: UInt32?
    }
    /// Where the checksum stands that may follow a page.
    private var sum: Sum?
    private var header: Int64?
    private var hasWritten = false

    private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    private static let sampleStep = 200

    init(lower: LowerFile, main: MainFile) {
        self.main = main
        scratch = Scratch(count: main.codec.pageSize)
        super.init(lower: lower)
    }

    private var codec: PageCodec { main.codec }
    private var page: Int { codec.pageSize }
    private func note(_ shape: String) { main.entry.trace?.note(.journal, shape) }

    /// The sum over every 200th byte that SQLite's checksum is made of.
    private func samples(_ page: Region) -> UInt32 {
        var sum: UInt32 = 0
        var index = page.count - Self.sampleStep
        while index > 0 {
            sum &+= UInt32(page[index])
            index -= Self.sampleStep
        }
        return sum
    }

    // MARK: Reading

    override func read(_ region: Region, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        if region.count == page { return readPage(region, at: offset) }
        guard region.count < page else {
            note("refused read")
            return SQLITE_IOERR
        }
        let result = lower.read(region, at: offset)
        guard result == SQLITE_OK else { return result }
        note(region.count <= 8 ? "read \(region.count)" : "read name")
        if region.count == 8, region.equals(Self.magic) { header = offset }
        guard region.count == 4 else { return SQLITE_OK }
        if let sum, sum.offset == offset {
            let value = sum.answer ?? region.bigEndian32(0) &- sum.shift
            region.setBigEndian32(value, at: 0)
            self.sum = nil
        } else {
            number = Record(number: region.bigEndian32(0), offset: offset + 4)
        }
        return SQLITE_OK
    }

    private func readPage(_ region: Region, at offset: Int64) -> Int32 {
        guard let record = number, record.offset == offset else {
            note("refused read page")
            return SQLITE_IOERR
        }
        note("read page")
        number = nil
        let result = lower.read(region, at: offset)
        guard result == SQLITE_OK else {
            region.zero()
            return result
        }
        let cipherSum = samples(region)
        guard codec.open(region, number: record.number) else { return torn(after: offset + Int64(page)) }
        sum = Sum(offset: offset + Int64(page), shift: cipherSum &- samples(region), answer: nil)
        return SQLITE_OK
    }

    /// A page image that does not open. In a journal that a crash left, it is where the journal was torn: the
    /// checksum that SQLite reads next must not fit, and it stops there. In a rollback of this process's own
    /// changes it is damage.
    private func torn(after offset: Int64) -> Int32 {
        let start = small.region.part(0, 4)
        guard !hasWritten, let header, lower.read(start, at: header + 12) == SQLITE_OK else {
            return SQLITE_IOERR_DATA_CODE
        }
        // The page handed back is all zero, so its right checksum is the header's start value.
        sum = Sum(offset: offset, shift: 0, answer: start.bigEndian32(0) &+ 1)
        return SQLITE_OK
    }

    // MARK: Writing

    override func write(_ region: Region, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        hasWritten = true
        if region.count == page { return writePage(region, at: offset) }
        guard region.count < page else {
            note("refused write")
            return SQLITE_IOERR
        }
        if let sum, sum.offset == offset, region.count == 4 {
            note("write checksum")
            self.sum = nil
            let shifted = small.region.part(0, 4)
            shifted.setBigEndian32(region.bigEndian32(0) &+ sum.shift, at: 0)
            return lower.write(shifted, at: offset)
        }
        if region.count == 4 {
            number = Record(number: region.bigEndian32(0), offset: offset + 4)
        } else if !isKnown(region) {
            note("refused write \(region.count)")
            return SQLITE_IOERR
        }
        note([1, 4, 8, 12, 28, 512].contains(region.count) ? "write \(region.count)" : "write name")
        return lower.write(region, at: offset)
    }

    /// Headers, their parts, zeros over them, and the name of a super-journal.
    private func isKnown(_ region: Region) -> Bool {
        switch region.count {
        case 1, 28: region.isZero
        case 8, 12: region.part(0, 8).equals(Self.magic)
        // A header gets its mark when the records after it are flushed.
        case 512: region.part(0, 8).equals(Self.magic) || region.part(0, 12).isZero
        default: region[0] == UInt8(ascii: "/")
        }
    }

    private func writePage(_ region: Region, at offset: Int64) -> Int32 {
        guard let record = number, record.offset == offset else {
            note("refused write page")
            return SQLITE_IOERR
        }
        note("write page")
        number = nil
        guard codec.seal(region, number: record.number, into: scratch.region) else { return SQLITE_IOERR }
        sum = Sum(
            offset: offset + Int64(page), shift: samples(scratch.region) &- samples(region), answer: nil)
        return lower.write(scratch.region, at: offset)
    }
}
