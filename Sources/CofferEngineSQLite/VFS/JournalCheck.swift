import CSQLite

/// A check of a hot journal that takes place before SQLite plays the journal back, and that decides which
/// part of the journal to trust.
///
/// SQLite ends a rollback at the first record whose checksum does not match, and then deletes the journal.
/// That is right for records that were never flushed, but destroys the database if the key is wrong or a bit
/// was flipped. If the check cannot distinguish these cases, the journal is kept.
struct JournalCheck {
    enum Verdict {
        /// SQLite may play the journal back; the part from `end` on is torn.
        case plays(end: Int64)
        /// Part of the journal was changed or cut off after it was written.
        case damaged
        /// Nothing proves that the journal was written under this key.
        case unknown
        /// The journal or the database cannot be read, for the reason in SQLite's result code.
        case unreadable(Int32)
    }

    /// The records after one header, as SQLite interprets the header.
    private struct Segment {
        let start: Int64
        let count: UInt32
        let sumStart: UInt32
        let databaseSize: UInt32
        let sectorSize: Int64

        /// Whether records fill the journal from the header to the end: with `synchronous = OFF`, SQLite does
        /// not maintain the count.
        var isOpen: Bool { count == UInt32.max }
    }

    private let lower: UnderlyingFile
    private let main: DatabaseFile
    private let sector = Scratch(count: JournalSeal.sectorSize)
    private let number = Scratch(count: JournalSeal.numberSize)
    private var record: JournalRecord
    private var size: Int64 = 0
    private var isSealed = false
    /// The pages that are missing from the database and for which the check has not yet found a record.
    private var lacking: Set<UInt32> = []
    /// Whether something in the database or the journal has opened under the key.
    private var isProven: Bool { main.isProven }

    init(lower: UnderlyingFile, main: DatabaseFile) {
        self.lower = lower
        self.main = main
        record = JournalRecord(codec: main.codec)
    }

    /// Returns the verdict on the whole journal.
    mutating func run() -> Verdict {
        guard let size = lower.size else { return .unreadable(SQLITE_IOERR) }
        self.size = size
        // The journal belongs to the file that now has the name of this file.
        guard !main.hasMoved else { return .unreadable(SQLITE_READONLY_DBMOVED_CODE) }
        if let refusal = refusedEnding() { return refusal }
        // Before the whole header is on the disk, SQLite changes no page of the database.
        guard size >= Int64(sector.region.count) else { return ifOwn(.plays(end: 0)) }
        let result = lower.read(sector.region, at: 0)
        guard result == SQLITE_OK else { return .unreadable(result) }
        // A finished journal begins with zeros, and so does a journal whose records were never flushed.
        guard sector.region.setBits(in: 0..<JournalRecord.magic.count) > 1 else {
            return ifOwn(.plays(end: 0))
        }
        guard var segment = firstSegment() else { return withoutHeader() }
        // The journal is of the first transaction of a new database. If the file is blank, nothing of the
        // transaction reached the disk. Otherwise the salt did, too, and the journal must be sealed under the
        // key: without that, the file may be a database whose first page is damaged.
        if segment.databaseSize == 0 {
            guard let isBlank = main.isBlank else { return .unreadable(SQLITE_IOERR_READ_CODE) }
            if isBlank { return .plays(end: size) }
        }
        // An attacker who removes the seals could change the headers undetected.
        guard isSealed || !main.codec.sealsEveryJournal else { return damage }
        if isSealed, !isAuthentic(at: 0) { return ifOwn(.damaged) }
        if isSealed { main.prove() }
        guard let count = main.pageCount else { return .unreadable(SQLITE_IOERR_FSTAT_CODE) }
        let former = Int64(segment.databaseSize)
        // SQLite truncates a database only after the transaction has ended. A missing page that has no record
        // is lost: SQLite would create a page of zeros in its place.
        if count < former {
            guard former - count <= size / record.size else { return damage }
            lacking = Set((UInt32(count) + 1)...segment.databaseSize)
        }
        while true {
            switch check(segment) {
            case .end(let end): return finished(end)
            case .stop(let verdict): return verdict
            case .goOn(let offset):
                switch next(at: offset, segment) {
                case .segment(let following): segment = following
                case .end(let end): return finished(end)
                case .stop(let verdict): return verdict
                }
            }
        }
    }

    /// Returns the verdict on a journal whose end contains a name other than that of a valid super-journal;
    /// `nil` if the journal's end is valid.
    private func refusedEnding() -> Verdict? {
        switch SuperJournal.ending(size, lower.read) {
        case .none: return nil
        case .stranger: return damage
        case .unreadable(let code): return .unreadable(code)
        case .name(let name, _):
            switch SuperJournal.fileKind(at: name) {
            case .vacant, .file: return nil
            case .noFile: return damage
            // SQLite would take the super-journal for deleted, and delete the journal.
            case .unreadable: return .unreadable(SQLITE_IOERR_ACCESS_CODE)
            }
        }
    }

    private func finished(_ end: Int64) -> Verdict {
        guard lacking.isEmpty else { return damage }
        return isProven ? .plays(end: end) : ifOwn(.plays(end: end))
    }

    /// Returns the verdict on a journal without a valid first header. A power failure while SQLite flushes
    /// the journal can garble the header's sector; the database is then unchanged. The database
    /// counts as unchanged if every record that opens equals the page in the database, and if no later header
    /// proves that the first header was once whole.
    private mutating func withoutHeader() -> Verdict {
        guard case .opens = main.firstPage else { return ifOwn(.damaged) }
        // A header that is almost correct has flipped bits, which a crash does not cause.
        guard sector.region.part(0, 8).distance(to: JournalRecord.magic) >= Self.garbledBits else {
            return .damaged
        }
        var offset = Int64(JournalSeal.sectorSize)
        var hasOwnRecord = size < offset + record.size
        while offset + record.size <= size {
            if case .unreadable(let code) = record.read(lower, at: offset, start: 0) {
                return .unreadable(code)
            }
            if record.isAuthentic {
                guard main.has(record.page, as: record.number) else { return .damaged }
                hasOwnRecord = true
            } else if isHeader(at: offset) {
                return .damaged
            }
            offset += record.size
        }
        return hasOwnRecord ? .plays(end: 0) : .damaged
    }

    /// The number of the magic's 64 bits that must differ for a sector to count as garbled. Random bytes
    /// differ in fewer bits in only about one in 80,000 cases.
    private static let garbledBits = 16

    /// Reports whether a header follows the records that end at `offset`.
    private func isHeader(at offset: Int64) -> Bool {
        let step = Int64(JournalSeal.sectorSize)
        let place = (offset + step - 1) / step * step
        guard lower.read(sector.region, at: place) == SQLITE_OK else { return false }
        number.region.copy(JournalSeal.number(in: sector.region))
        return sector.region.part(0, 8).equals(JournalRecord.magic) || isAuthentic(at: place)
    }

    // MARK: Headers

    private func isAuthentic(at offset: Int64) -> Bool {
        main.codec.journalSeal?.isAuthentic(sector.region, at: offset, number: number.region) == true
    }

    /// Returns the journal's first header; `nil` if there is none.
    private mutating func firstSegment() -> Segment? {
        let sectorSize = Int64(sector.region.bigEndian32(20))
        guard sector.region.part(0, 8).equals(JournalRecord.magic), (32...65536).contains(sectorSize),
            sectorSize.nonzeroBitCount == 1, sector.region.bigEndian32(24) == UInt32(main.codec.pageSize)
        else { return nil }
        isSealed = sectorSize == Int64(JournalSeal.sectorSize) && JournalSeal.isSealed(sector.region)
        number.region.copy(JournalSeal.number(in: sector.region))
        return segment(at: 0, sectorSize)
    }

    private func segment(at offset: Int64, _ sectorSize: Int64) -> Segment {
        Segment(
            start: offset + sectorSize, count: sector.region.bigEndian32(8),
            sumStart: sector.region.bigEndian32(12), databaseSize: sector.region.bigEndian32(16),
            sectorSize: sectorSize)
    }

    private enum Next {
        case segment(Segment)
        case end(Int64)
        case stop(Verdict)
    }

    /// Returns the header after the records that end at `offset`; otherwise the end of the journal, or a
    /// verdict.
    private func next(at offset: Int64, _ previous: Segment) -> Next {
        let place = (offset + previous.sectorSize - 1) / previous.sectorSize * previous.sectorSize
        guard place + previous.sectorSize <= size else { return .end(place) }
        let result = lower.read(sector.region, at: place)
        guard result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ_CODE else {
            return .stop(.unreadable(result))
        }
        let mark = sector.region.part(0, 8)
        if isSealed {
            let isOwn = JournalSeal.number(in: sector.region).equals(number.region)
            // A header that remains from an earlier transaction has another number.
            guard isAuthentic(at: place) else { return isOwn ? .stop(.damaged) : .end(place) }
        } else if mark.distance(to: JournalRecord.magic) == 1 {
            return .stop(.damaged)
        }
        guard mark.equals(JournalRecord.magic) else { return .end(place) }
        return .segment(segment(at: place, previous.sectorSize))
    }

    // MARK: Records

    private enum Progress {
        case goOn(Int64)
        case end(Int64)
        case stop(Verdict)
    }

    private mutating func check(_ segment: Segment) -> Progress {
        var offset = segment.start
        let count = segment.isOpen ? (size - segment.start) / record.size : Int64(segment.count)
        for _ in 0..<count {
            switch record.read(lower, at: offset, start: segment.sumStart) {
            case .whole where record.number <= segment.databaseSize:
                main.prove()
                lacking.remove(record.number)
            case .whole, .altered, .flipped: return .stop(damage)
            case .unreadable(let code): return .stop(.unreadable(code))
            case .torn: return torn(at: offset, segment)
            }
            offset += record.size
        }
        // One more record than the header counts is whole, so the count is wrong.
        guard !isSealed, !segment.isOpen else { return .goOn(offset) }
        if case .whole = record.read(lower, at: offset, start: segment.sumStart) { return .stop(damage) }
        return .goOn(offset)
    }

    /// The verdict on damage. It is definite only if the key is known to be right.
    private var damage: Verdict { isProven ? .damaged : ifOwn(.damaged) }

    /// Returns `verdict` if page 1 opens and so proves that the key is right; otherwise the verdict that
    /// follows from page 1.
    private func ifOwn(_ verdict: Verdict) -> Verdict {
        switch main.firstPage {
        case .opens: verdict
        case .foreign: .unknown
        case .unreadable(let code): .unreadable(code)
        }
    }

    /// Decides whether a crash can have torn the record at `offset`: only if nothing exists that was written
    /// later.
    private mutating func torn(at offset: Int64, _ segment: Segment) -> Progress {
        if segment.isOpen { return isFollowed(offset, segment) ? .stop(damage) : .end(offset) }
        // SQLite flushed the records that a header of a sealed journal counts before it wrote the count.
        if isSealed { return .stop(damage) }
        // SQLite changes pages of the database only after it has flushed the records of their segment.
        var place = segment.start
        while place < segment.start + Int64(segment.count) * record.size, place < size {
            if case .whole = record.read(lower, at: place, start: segment.sumStart),
                !main.has(record.page, as: record.number)
            {
                return .stop(damage)
            }
            place += record.size
        }
        return .end(offset)
    }

    /// Reports whether a whole record of the segment follows the one at `offset`.
    private mutating func isFollowed(_ offset: Int64, _ segment: Segment) -> Bool {
        var place = offset + record.size
        while place + record.size <= size {
            if case .whole = record.read(lower, at: place, start: segment.sumStart) { return true }
            place += record.size
        }
        return false
    }
}
