import CSQLite

/// The rollback journal. Its headers and page numbers are in plaintext; its page images are encrypted like
/// the pages themselves.
///
/// A record is the page number (4), the page, and the checksum (4). SQLite computes the checksum over the
/// decrypted page. On the disk, the checksum covers the ciphertext, as in the journals of SQLCipher, so this
/// file shifts each checksum by the difference.
final class JournalFile: EncryptedFile {
    private let main: DatabaseFile
    private let scratch: Scratch
    private let small = Scratch(count: 8)

    private struct Record {
        var number: UInt32
        var offset: Int64
    }
    /// The page number that was last read or written, and the offset of the page that may follow it.
    private var number: Record?
    private struct Sum {
        var offset: Int64
        /// The difference between the checksum on the disk and SQLite's.
        var shift: UInt32
        /// The value to return instead of the checksum on the disk; `nil` to return the shifted checksum.
        var answer: UInt32?
    }
    /// The checksum that may follow a page.
    private var sum: Sum?
    /// The offset of the header that was last read.
    private var header: Int64?
    private var hasWritten = false
    /// The verdict on a journal that a crash left, reached before SQLite reads its first byte.
    private var verdict: JournalCheck.Verdict?

    /// The sector with the header that was last written.
    private let sector = Scratch(count: JournalSeal.sectorSize)
    private var sectorOffset: Int64?
    /// The random number that all headers of one transaction share.
    private let ownNumber = Scratch(count: JournalSeal.numberSize)
    /// Whether everything that this connection wrote to the journal has been flushed.
    private var isFlushed = true

    init(lower: UnderlyingFile, main: DatabaseFile) {
        self.main = main
        scratch = Scratch(count: main.codec.pageSize)
        super.init(lower: lower)
    }

    private var codec: PageCodec { main.codec }
    private var page: Int { codec.pageSize }
    private func note(_ shape: String) { main.entry.trace?.note(.journal, shape) }

    // MARK: Reading

    override func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        let refusal = inspect()
        guard refusal == SQLITE_OK else { return refusal }
        if region.count == page { return readPage(region, at: offset) }
        guard region.count < page else {
            note("refused read")
            return SQLITE_IOERR
        }
        let result = lower.read(region, at: offset)
        guard result == SQLITE_OK else { return result }
        note(region.count <= 8 ? "read \(region.count)" : "read name")
        if region.count == 8, region.equals(JournalRecord.magic) {
            header = offset
            // SQLite must not take the remains of an earlier transaction for a new segment past the end. The
            // same magic also follows the name of a super-journal, at the end of the file.
            if let end, offset >= end, let size = lower.size, offset + 8 < size { region.zero() }
        }
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

    /// Checks the journal before SQLite receives its size: SQLite deletes a journal that is shorter than a
    /// header without reading it.
    override func fileSize(_ size: UnsafeMutablePointer<Int64>?) -> Int32 {
        let refusal = inspect()
        guard refusal == SQLITE_OK else { return refusal }
        return unsafe lower.fileSize(size)
    }

    /// Checks a journal that a crash left. Returns `SQLITE_OK`, or the result code that keeps SQLite from
    /// playing the journal back and deleting it.
    private func inspect() -> Int32 {
        guard !hasWritten else { return SQLITE_OK }
        if verdict == nil {
            verdict = main.tryingIdentity {
                var check = JournalCheck(lower: lower, main: main)
                return check.run()
            }
            // The pages to play back were in the database before, so a page that is missing there is damage.
            if case .plays = verdict { main.end.leave() }
        }
        return switch verdict {
        case .plays, nil: SQLITE_OK
        case .damaged: SQLITE_IOERR_DATA_CODE
        case .unknown: SQLITE_NOTADB
        case .unreadable(let code): code
        }
    }

    /// The offset at which the torn part of a journal that a crash left begins.
    private var end: Int64? { if !hasWritten, case .plays(let end) = verdict { end } else { nil } }

    private func readPage(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard let record = number, record.offset == offset else {
            note("refused read page")
            return SQLITE_IOERR
        }
        note("read page")
        if !hasWritten { main.end.leave() }
        number = nil
        let result = lower.read(region, at: offset)
        guard result == SQLITE_OK else {
            region.zero()
            return result
        }
        if let end, offset >= end { return torn(region, after: offset + Int64(page)) }
        let cipherSum = JournalRecord.sampledChecksum(region)
        guard codec.open(region, number: record.number) else { return SQLITE_IOERR_DATA_CODE }
        let shift = cipherSum &- JournalRecord.sampledChecksum(region)
        sum = Sum(offset: offset + Int64(page), shift: shift, answer: nil)
        return SQLITE_OK
    }

    /// Handles a record that a crash tore. The checksum that SQLite reads next must not match, so that SQLite
    /// stops there.
    private func torn(_ region: SharedMemoryRegion, after offset: Int64) -> Int32 {
        region.zero()
        let start = small.region.part(0, 4)
        guard let header, lower.read(start, at: header + 12) == SQLITE_OK else {
            return SQLITE_IOERR_DATA_CODE
        }
        // SQLite receives a page of zeros, so the correct checksum would be the start value in the header.
        sum = Sum(offset: offset, shift: 0, answer: start.bigEndian32(0) &+ 1)
        return SQLITE_OK
    }

    // MARK: Writing

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        if !hasWritten { main.end.fill(behind: 0) }
        hasWritten = true
        let wasFlushed = isFlushed
        isFlushed = false
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
        switch region.count {
        case JournalSeal.sectorSize: return writeHeader(region, at: offset)
        case 12: return countRecords(region, at: offset, areFlushed: wasFlushed)
        default: return lower.write(region, at: offset)
        }
    }

    /// Writes a header with its seal.
    private func writeHeader(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        if offset == 0, !SystemRandom.fill(ownNumber.region) { return SQLITE_IOERR }
        sector.region.copy(region)
        sectorOffset = offset
        return writeSector(at: offset)
    }

    /// Rewrites the first 12 bytes of the header (the magic and the count) after its records are written.
    /// With `synchronous = NORMAL`, SQLite leaves open whether the count or the records reach the disk first.
    /// This function flushes the records first, so a counted record that does not match is damage rather than
    /// a torn end.
    private func countRecords(_ region: SharedMemoryRegion, at offset: Int64, areFlushed: Bool) -> Int32 {
        guard sectorOffset == offset else { return SQLITE_IOERR }
        if !areFlushed {
            let result = lower.sync(SQLITE_SYNC_NORMAL)
            guard result == SQLITE_OK else { return result }
        }
        sector.region.copy(region)
        return writeSector(at: offset)
    }

    private func writeSector(at offset: Int64) -> Int32 {
        guard codec.journalSeal?.seal(sector.region, at: offset, number: ownNumber.region) == true else {
            return SQLITE_IOERR
        }
        return lower.write(sector.region, at: offset)
    }

    override func sync(_ flags: Int32) -> Int32 {
        let result = lower.sync(flags)
        isFlushed = result == SQLITE_OK
        return result
    }

    /// Reports whether the bytes have a form in which SQLite writes to a journal: a header, a part of a
    /// header, zeros over a header, or the name of a super-journal.
    private func isKnown(_ region: SharedMemoryRegion) -> Bool {
        switch region.count {
        case 1, 28: region.isZero
        case 8, 12: region.part(0, 8).equals(JournalRecord.magic)
        // SQLite writes the magic of a header when it has flushed the records after it.
        case 512: region.part(0, 8).equals(JournalRecord.magic) || region.part(0, 12).isZero
        default: region[0] == UInt8(ascii: "/")
        }
    }

    private func writePage(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard let record = number, record.offset == offset else {
            note("refused write page")
            return SQLITE_IOERR
        }
        note("write page")
        number = nil
        guard codec.seal(region, number: record.number, into: scratch.region) else { return SQLITE_IOERR }
        sum = Sum(
            offset: offset + Int64(page),
            shift: JournalRecord.sampledChecksum(scratch.region) &- JournalRecord.sampledChecksum(region),
            answer: nil)
        return lower.write(scratch.region, at: offset)
    }
}
