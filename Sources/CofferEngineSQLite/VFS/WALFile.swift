import CSQLite

/// The write-ahead log. The log's headers are in plaintext, its pages are encrypted like those of the
/// database, and its running checksum covers the bytes on the disk.
///
/// SQLite computes its checksum over the decrypted page. This file ignores that checksum and computes its
/// own, which continues the one of the physically preceding frame. When SQLite recovers the WAL or rewrites
/// checksums, it reads whole frames as they are on the disk and continues that chain itself.
final class WALFile: EncryptedFile {
    private static let headerSize = 32
    private static let frameHeader = 24
    /// The first word of a WAL. Its last bit indicates the byte order of the checksums.
    static let magic: UInt32 = 0x377f_0682

    private let main: DatabaseFile
    /// A buffer for a frame: the frame's header, followed by the page.
    private let frame: Scratch
    private let small = Scratch(count: 32)
    /// The offset of the frame whose header is in ``frame`` until SQLite writes the page.
    private var pending: Int64?
    /// The offset of a frame whose header was dropped because SQLite did not write the page next: memory ran
    /// out between the two writes.
    private var abandoned: Int64?
    /// The offset of the frame that SQLite read as a whole in the previous access.
    private var rawFrame: Int64?
    /// The checksum of the last frame written here, which ends at ``end``. The next frame continues it while
    /// this connection keeps the write lock. After that, other connections may have overwritten the frame,
    /// unless the frame was the last valid one when this connection released the lock: then the checksum
    /// stays usable as long as the salts are the same.
    private struct Link {
        let end: Int64
        let salts: UInt64
        let sums: WALChecksum
        let lockPeriod: Int
    }
    private var link: Link?
    /// Whether the words of the checksum are big-endian; `nil` until the header is read or written.
    private var isBigEndian: Bool?
    /// Whether the WAL has passed the check in ``inspect()``.
    private var isKnown = false

    init(lower: UnderlyingFile, main: DatabaseFile) {
        self.main = main
        frame = Scratch(count: Self.frameHeader + main.codec.pageSize)
        super.init(lower: lower)
        main.hasWAL = true
    }

    private var codec: PageCodec { main.codec }
    private var page: Int { codec.pageSize }
    private func note(_ shape: String) { main.entry.trace?.note(.wal, shape) }

    private func refused(_ shape: String) -> Int32 {
        note("refused " + shape)
        return SQLITE_IOERR
    }

    /// Drops a header whose page did not follow. The frame on the disk stays unchanged, as after a crash
    /// before the write.
    private func abandonPending() {
        guard let pending else { return }
        note("abandoned 24")
        abandoned = pending
        self.pending = nil
    }

    /// Reports whether a frame begins at `offset`.
    private func isFrame(_ offset: Int64) -> Bool {
        offset >= Int64(Self.headerSize)
            && (offset - Int64(Self.headerSize)) % Int64(frame.region.count) == 0
    }

    // MARK: Reading

    override func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        abandonPending()
        rawFrame = nil
        let refusal = inspect()
        guard refusal == SQLITE_OK else { return refusal }
        let header = Int64(Self.frameHeader)
        switch region.count {
        case page where isFrame(offset - header):
            note("read page")
            return readPage(region, at: offset - header)
        case frame.region.count where isFrame(offset):
            note("read frame")
            rawFrame = offset
        case Self.headerSize where offset == 0: note("read 32 @0")
        case Self.frameHeader where isFrame(offset): note("read 24")
        case 8 where offset == header || isFrame(offset - 16): note("read 8")
        default: return refused("read \(region.count)")
        }
        return lower.read(region, at: offset)
    }

    private func readPage(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        let bodyOffset = offset + Int64(Self.frameHeader)
        if main.isCheckpointing { return lower.read(region, at: bodyOffset) }
        let result = lower.read(frame.region, at: offset)
        guard result == SQLITE_OK else {
            region.zero()
            return result
        }
        let number = frame.region.bigEndian32(0)
        guard open(into: region, number) || main.tryingIdentity({ open(into: region, number) }) else {
            return number == 1 ? SQLITE_NOTADB : SQLITE_IOERR_DATA_CODE
        }
        return SQLITE_OK
    }

    /// Decrypts the page in ``frame`` into `region` and leaves ``frame`` unchanged.
    private func open(into region: SharedMemoryRegion, _ number: UInt32) -> Bool {
        region.copy(frame.region.part(Self.frameHeader, page))
        guard codec.open(region, number: number) else { return false }
        main.prove()
        return true
    }

    /// Checks that the WAL belongs to this database before SQLite reads its first byte, because recovery and
    /// checkpoints use frames without decrypting them.
    private func inspect() -> Int32 {
        guard !isKnown else { return SQLITE_OK }
        // Another connection may have created the database since this one opened it.
        let result = main.tryingIdentity {
            let result = beginsWithForeignFrame()
            guard result == SQLITE_NOTADB else { return result }
            return switch main.firstPage {
            case .opens: SQLITE_IOERR_DATA_CODE
            case .foreign: SQLITE_NOTADB
            case .unreadable(let code): code
            }
        }
        isKnown = result == SQLITE_OK
        return result
    }

    /// Reads from a WAL that may end within the region or before it.
    private func readAvailable(_ region: SharedMemoryRegion, at offset: Int64) -> (code: Int32, isWhole: Bool)
    {
        let code = lower.read(region, at: offset)
        return code == SQLITE_IOERR_SHORT_READ_CODE ? (SQLITE_OK, false) : (code, code == SQLITE_OK)
    }

    /// Returns `SQLITE_NOTADB` if SQLite would accept the WAL but its first frame does not open under the
    /// key; otherwise `SQLITE_OK`. If a read fails, which proves nothing, returns its result code.
    private func beginsWithForeignFrame() -> Int32 {
        let header = small.region
        let first = readAvailable(header, at: 0)
        guard first.isWhole, header.bigEndian32(0) & ~1 == Self.magic else { return first.code }
        let isBigEndian = header[3] & 1 == 1
        var sums = WALChecksum()
        sums.add(header.part(0, 24).span, isBigEndian: isBigEndian)
        guard sums == WALChecksum(first: header.bigEndian32(24), second: header.bigEndian32(28)) else {
            return SQLITE_OK
        }
        guard header.bigEndian32(8) == UInt32(page) else { return SQLITE_NOTADB }
        let body = frame.region.part(Self.frameHeader, page)
        let second = readAvailable(frame.region, at: Int64(Self.headerSize))
        guard second.isWhole, frame.region.word64(8) == header.word64(16) else { return second.code }
        sums.add(frame.region.part(0, 8).span, isBigEndian: isBigEndian)
        sums.add(body.span, isBigEndian: isBigEndian)
        guard sums == WALChecksum(first: frame.region.bigEndian32(16), second: frame.region.bigEndian32(20))
        else { return SQLITE_OK }
        let isOwn = codec.open(body, number: frame.region.bigEndian32(0))
        if isOwn { main.prove() }
        body.zero()
        return isOwn ? SQLITE_OK : SQLITE_NOTADB
    }

    // MARK: Writing

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !main.entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        guard !main.entry.isReadOnly else { return SQLITE_READONLY }
        let refusal = inspect()
        guard refusal == SQLITE_OK else { return refusal }
        let raw = rawFrame
        rawFrame = nil
        let header = Int64(Self.frameHeader)
        if region.count != page || pending != offset - header { abandonPending() }
        switch region.count {
        case Self.headerSize where offset == 0:
            note("write 32 @0")
            isBigEndian = region[3] & 1 == 1
            link = nil
            abandoned = nil
            return lower.write(region, at: offset)
        case Self.frameHeader where isFrame(offset):
            if raw == offset, main.hasOverwrittenFrames {
                note("rewrite 24")
                link = nil
                return lower.write(region, at: offset)
            }
            note("write 24")
            frame.region.copy(region)
            pending = offset
            if abandoned == offset { abandoned = nil }
            return SQLITE_OK
        case page where pending == offset - header:
            note("write page")
            return append(region, at: offset - header)
        case page where isFrame(offset - header) && abandoned != offset - header:
            note("overwrite page")
            return overwrite(region, at: offset - header)
        default: return refused("write \(region.count)")
        }
    }

    /// Writes the pending header and its page in one write.
    private func append(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        pending = nil
        let header = frame.region.part(0, Self.frameHeader)
        let body = frame.region.part(Self.frameHeader, page)
        guard accepts(region, header) else { return SQLITE_READONLY_GEOMETRY_CODE }
        guard codec.seal(region, number: header.bigEndian32(0), into: body) else { return SQLITE_IOERR }
        // SQLite writes zeros for a checksum that it computes when the transaction is complete. Versions up
        // to 3.50.1 forget some of these checksums after `ROLLBACK TO`, and a crash then loses committed data
        // (fixed in 3.50.2). Therefore every frame gets its checksum from the start.
        if header.part(8, 16).isZero {
            let salts = lower.read(small.region.part(0, 8), at: 16)
            guard salts == SQLITE_OK else { return salts }
            header.copy(small.region.part(0, 8), at: 8)
        }
        let computed = computeChecksum(header, body, at: offset)
        guard computed == SQLITE_OK else { return computed }
        let result = lower.write(frame.region, at: offset)
        if result != SQLITE_OK { link = nil }
        return result
    }

    /// Overwrites a page that the same transaction wrote.
    private func overwrite(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        let header = small.region.part(0, Self.frameHeader)
        let result = lower.read(header, at: offset)
        guard result == SQLITE_OK else { return result }
        let body = frame.region.part(Self.frameHeader, page)
        guard accepts(region, header) else { return SQLITE_READONLY_GEOMETRY_CODE }
        guard codec.seal(region, number: header.bigEndian32(0), into: body) else { return SQLITE_IOERR }
        main.hasOverwrittenFrames = true
        link = nil
        return lower.write(body, at: offset + Int64(Self.frameHeader))
    }

    /// Reports whether a page has the geometry that the codec needs. Only page 1 records it, for all pages.
    private func accepts(_ page: SharedMemoryRegion, _ header: SharedMemoryRegion) -> Bool {
        header.bigEndian32(0) != 1 || codec.accepts(firstPage: page)
    }

    /// Writes into `header` the checksum that continues the chain on the disk.
    private func computeChecksum(_ header: SharedMemoryRegion, _ body: SharedMemoryRegion, at offset: Int64)
        -> Int32
    {
        let previous = small.region.part(24, 8)
        var sums: WALChecksum
        let salts = header.word64(8)
        if let link, link.end == offset, link.lockPeriod == main.writeLockPeriod || isValid(link, salts) {
            sums = link.sums
        } else {
            let result = readPrevious(at: offset)
            guard result == SQLITE_OK else { return result }
            sums = WALChecksum(first: previous.bigEndian32(0), second: previous.bigEndian32(4))
        }
        let isBigEndian = isBigEndian == true
        sums.add(header.part(0, 8).span, isBigEndian: isBigEndian)
        sums.add(body.span, isBigEndian: isBigEndian)
        header.setBigEndian32(sums.first, at: 16)
        header.setBigEndian32(sums.second, at: 20)
        link = Link(
            end: offset + Int64(frame.region.count), salts: salts, sums: sums,
            lockPeriod: main.writeLockPeriod)
        return SQLITE_OK
    }

    /// Reports whether the frame that `link` describes was the last valid one in the WAL with these salts
    /// when this connection released the write lock.
    private func isValid(_ link: Link, _ salts: UInt64) -> Bool {
        guard let valid = main.validWAL, valid.lockPeriod == link.lockPeriod else { return false }
        let frames = (link.end - Int64(Self.headerSize)) / Int64(frame.region.count)
        return frames == Int64(valid.frames) && link.salts == salts && valid.salts == salts
    }

    /// Reads the checksum that the frame at `offset` continues, from the previous frame or the WAL's header,
    /// and stores it at the end of ``small``.
    private func readPrevious(at offset: Int64) -> Int32 {
        let isFirst = offset == Int64(Self.headerSize)
        if isBigEndian == nil || isFirst {
            let before = small.region.part(0, Self.headerSize)
            let result = lower.read(before, at: 0)
            guard result == SQLITE_OK else { return result }
            isBigEndian = before[3] & 1 == 1
        }
        guard !isFirst else { return SQLITE_OK }
        return lower.read(small.region.part(24, 8), at: offset - Int64(frame.region.count) + 16)
    }

    // MARK: The rest

    override func sync(_ flags: Int32) -> Int32 {
        abandonPending()
        return lower.sync(flags)
    }

    override func truncate(to size: Int64) -> Int32 {
        pending = nil
        abandoned = nil
        rawFrame = nil
        link = nil
        return lower.truncate(to: size)
    }

    override func close() -> Int32 {
        main.hasWAL = false
        return super.close()
    }
}
