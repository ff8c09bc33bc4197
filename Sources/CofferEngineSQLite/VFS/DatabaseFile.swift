import CSQLite

/// The database file: whole pages, each encrypted independently.
final class DatabaseFile: EncryptedFile {
    let entry: KeyEntry
    let opening: FileOpening
    /// The codec for the pages, including those in the journal and the WAL.
    private(set) var codec: PageCodec {
        didSet { isCodecProven = false }
    }
    /// Whether a checkpoint is copying encrypted pages from the WAL to this file.
    private(set) var isCheckpointing = false
    /// Whether this connection has overwritten a WAL frame in place since it last released the write lock.
    var hasOverwrittenFrames = false
    /// The number of times that this connection has requested or released the WAL's write lock.
    private(set) var writeLockPeriod = 0
    /// The part of the WAL that was valid when this connection last released the write lock.
    struct ValidWAL {
        let frames: UInt32
        let salts: UInt64
        /// The ``writeLockPeriod`` that ended with that release.
        let lockPeriod: Int
    }
    private(set) var validWAL: ValidWAL?
    /// Whether this connection has decrypted, verified or written part of the database, journal or WAL.
    var isProven: Bool { proven != nil }
    /// The plaintext bytes with which this connection last opened or wrote such a part.
    private var proven: [UInt8]?
    /// Whether ``prove()`` was called since the codec was last set.
    private var isCodecProven = false
    /// The end of the file. The journal also sets it: pages played back after a crash fill no holes.
    var end = FileEnd()
    /// Whether this connection has the WAL open.
    var hasWAL = false
    /// The WAL index's header, in memory that connections share.
    private var indexHeader: SharedMemoryRegion?

    private let scratch: Scratch
    /// The end of page 1 at the time when ``header`` was decrypted.
    private let headerTail: Scratch
    private let header = Scratch(count: 100)
    private var (knowsHeader, isFirst) = (false, false)
    let guardian: ConnectionGuard

    init?(lower: UnderlyingFile, entry: KeyEntry, opening: FileOpening) {
        // The copy of a `VACUUM INTO` whose name has a token is under that key, with its own plaintext bytes.
        let copied = opening.token == nil ? opening.vacuumTarget?.identity : nil
        let first = Self.clearBytes(lower) ?? copied
        guard let codec = entry.codec(first: first) else { return nil }
        self.entry = entry
        guardian = ConnectionGuard(entry: entry)
        self.opening = opening
        self.codec = codec
        scratch = Scratch(count: codec.pageSize)
        headerTail = Scratch(count: 256)
        super.init(lower: lower)
        isFirst = entry.noteOpened()
    }

    deinit { if isFirst { entry.noteFirstClosed() } }

    static func clearBytes(_ lower: UnderlyingFile) -> [UInt8]? {
        let first = Scratch(count: PageCodec.maxClearLength)
        let result = lower.read(first.region, at: 0)
        let isPart = result == SQLITE_IOERR_SHORT_READ_CODE && lower.size ?? 0 >= 16
        return result == SQLITE_OK || isPart ? first.region.bytes : nil
    }

    /// Records that some part of this database was opened under the key, or was written.
    func prove() {
        guard !isCodecProven else { return }
        isCodecProven = true
        guard proven != codec.identity else { return }
        proven = codec.identity
        if opening.isOwn { entry.provenIdentity = codec.identity }
    }

    private func refused(_ shape: String) -> Int32 {
        entry.trace?.note(.main, "refused " + shape)
        return SQLITE_IOERR
    }

    // MARK: Reading

    override func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        guard offset >= 0, region.count > 0 else { return refused("read") }
        if offset == 0, region.count == 100 { return probe(region) }
        let place = Int(offset) & (codec.pageSize - 1)
        let index = offset >> Int64(codec.pageShift)
        guard region.count <= codec.pageSize - place, index < Int64(UInt32.max) else {
            return refused("read across pages")
        }
        let number = UInt32(index) + 1
        if place == 0, region.count == codec.pageSize {
            entry.trace?.note(.main, "read page")
            return readPage(region, number)
        }
        if offset == 24, region.count == 16 {
            entry.trace?.note(.main, "read 16 @24")
            return readCounter(region)
        }
        entry.trace?.note(.main, "read in page")
        let result = readPage(scratch.region, number)
        region.copy(scratch.region.part(place, region.count))
        scratch.region.zero()
        return result
    }

    /// Reads and decrypts a page into `page`, which must have the size of a page.
    private func readPage(_ page: SharedMemoryRegion, _ number: UInt32) -> Int32 {
        let offset = Int64(number - 1) * Int64(codec.pageSize)
        let result = lower.read(page, at: offset)
        guard result == SQLITE_OK else {
            if number == 1, result == SQLITE_IOERR_SHORT_READ_CODE { diagnoseShort(page) }
            page.zero()
            // A page past the end does not exist. Reject a partial page, because SQLite would take the zeros
            // after it for its content.
            let isPart = result == SQLITE_IOERR_SHORT_READ_CODE && number > 1
            return isPart && lower.size.map { $0 > offset } != false ? SQLITE_IOERR_DATA_CODE : result
        }
        if number == 1 { return openFirst(page) ? SQLITE_OK : SQLITE_NOTADB }
        // Nothing replaces the codec meanwhile, and counting references for each page would take time.
        let isAuthentic = unsafe Unmanaged.passUnretained(codec)._withUnsafeGuaranteedRef {
            $0.open(page, number: number)
        }
        guard isAuthentic else { return SQLITE_IOERR_DATA_CODE }
        if !isCodecProven { prove() }
        return SQLITE_OK
    }

    /// Decrypts page 1, whose plaintext bytes may have changed since this file was opened.
    private func openFirst(_ page: SharedMemoryRegion) -> Bool {
        let first = page.part(0, PageCodec.maxClearLength).bytes
        let found = otherCodec(first) ?? codec
        if found.begins(with: first), found.open(page, number: 1) {
            codec = found
            prove()
            return true
        }
        page.zero()
        let reason: OpenDiagnosis? = clearBeginning ?? (opensWithAnotherHeader(found) ? .wrongKey : nil)
        entry.diagnosis =
            reason ?? entry.diagnose(first: first, size: lower.size, opensAnother: isNewPage(found))
        return false
    }

    /// Returns a codec for `first` if another connection may have created the database since this file was
    /// opened. Anyone can write these bytes, including the salt and the cost, so only a page that opens
    /// proves that the codec is right.
    private func otherCodec(_ first: [UInt8]) -> PageCodec? {
        guard !first.starts(with: codec.identity), let other = entry.codec(first: first),
            first.starts(with: other.identity)
        else { return nil }
        return other
    }

    /// Runs `body` with the codec for the plaintext bytes that are on the disk. Keeps a codec that differs
    /// from the former one only if `body` opens something with it.
    func tryingIdentity<Result>(_ body: () -> Result) -> Result {
        guard let first = Self.clearBytes(lower), let other = otherCodec(first) else { return body() }
        let former = (codec: codec, proven: proven)
        (codec, proven) = (other, nil)
        let result = body()
        if !isProven { (codec, proven) = (former.codec, former.proven) }
        return result
    }

    /// Reports whether one of the pages 2 to 4 opens with `codec`.
    private func isNewPage(_ codec: PageCodec) -> Bool {
        let other = Scratch(count: codec.pageSize)
        return (2...4).contains { number in
            lower.read(other.region, at: Int64(number - 1) * Int64(codec.pageSize)) == SQLITE_OK
                && codec.open(other.region, number: UInt32(number))
        }
    }

    /// The state of page 1 on the disk. If the page does not open, ``KeyEntry/diagnosis`` records the reason.
    var firstPage: FirstPageState {
        let page = Scratch(count: codec.pageSize)
        switch lower.read(page.region, at: 0) {
        case SQLITE_OK: return openFirst(page.region) ? .opens : .foreign
        case SQLITE_IOERR_SHORT_READ_CODE: return .foreign
        case let code: return .unreadable(code)
        }
    }

    /// Reports whether the database's page `number` equals `page`.
    func has(_ page: SharedMemoryRegion, as number: UInt32) -> Bool {
        let result = lower.read(scratch.region, at: Int64(number - 1) * Int64(codec.pageSize))
        return result == SQLITE_OK && codec.open(scratch.region, number: number)
            && scratch.region.equals(page)
    }

    /// Serves SQLite's first read, made without a lock. The read must not fail just because the first page is
    /// torn: otherwise SQLite could not open the database to recover it.
    private func probe(_ region: SharedMemoryRegion) -> Int32 {
        entry.trace?.note(.main, "read 100 @0")
        let page = scratch.region
        let result = lower.read(page, at: 0)
        guard result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ_CODE else { return result }
        // These bytes stay zero until the first transaction is complete.
        if result == SQLITE_OK, openFirst(page), !page.part(16, 8).isZero {
            region.copy(page.part(0, region.count))
        } else if entry.isUnpinned || opening.vacuumTarget != nil {
            region.zero()
        } else {
            codec.writeHeader(into: region, hasPointerMap: opening.hasPointerMap)
        }
        page.zero()
        return result
    }

    /// Reads the 16 bytes from the change counter on, which change only if the end of page 1 changes.
    private func readCounter(_ region: SharedMemoryRegion) -> Int32 {
        let page = scratch.region
        let result = lower.read(page, at: 0)
        guard result == SQLITE_OK else {
            region.zero()
            return result
        }
        let tail = page.part(codec.pageSize - codec.reserve, codec.reserve)
        let known = headerTail.region.part(0, codec.reserve)
        if !knowsHeader || !tail.equals(known) {
            knowsHeader = false
            known.copy(tail)
            guard openFirst(page) else {
                region.zero()
                return SQLITE_NOTADB
            }
            header.region.copy(page.part(0, header.region.count))
            knowsHeader = true
            page.zero()
        }
        region.copy(header.region.part(24, 16))
        return SQLITE_OK
    }

    // MARK: Writing

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        guard !entry.isRevoked else { return SQLITE_IOERR_AUTH_CODE }
        guard !entry.isReadOnly else { return SQLITE_READONLY }
        let size = Int64(codec.pageSize)
        guard region.count == codec.pageSize, offset >= 0, offset % size == 0,
            offset / size < Int64(UInt32.max)
        else { return refused("write") }
        if isCheckpointing {
            entry.trace?.note(.main, "write page, checkpoint")
            return append(region, at: offset)
        }
        entry.trace?.note(.main, "write page")
        let number = UInt32(offset / size) + 1
        if number == 1, !codec.accepts(firstPage: region), !region.isZero {
            return SQLITE_READONLY_GEOMETRY_CODE
        }
        guard codec.seal(region, number: number, into: scratch.region) else { return SQLITE_IOERR }
        prove()
        return append(scratch.region, at: offset)
    }

    private func append(_ page: SharedMemoryRegion, at offset: Int64) -> Int32 {
        end.write(page, at: offset, to: lower) { number, sealed in
            let zeros = Scratch(count: codec.pageSize)
            return codec.seal(zeros.region, number: number, into: sealed)
        }
    }

    override func truncate(to size: Int64) -> Int32 {
        end.forget()
        return super.truncate(to: size)
    }

    /// Prepares for a checkpoint. The pages that page 1 counts must already exist.
    private func beginCheckpoint() {
        isCheckpointing = true
        let page = Scratch(count: codec.pageSize)
        let isThere = lower.read(page.region, at: 0) == SQLITE_OK && codec.open(page.region, number: 1)
        if isThere { end.fill(behind: page.region.bigEndian32(28)) } else { end.leave() }
    }

    // MARK: Control

    override func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        switch operation {
        case SQLITE_FCNTL_CKPT_START: beginCheckpoint()
        case SQLITE_FCNTL_CKPT_DONE:
            isCheckpointing = false
            end.fill(behind: 0)
        case SQLITE_FCNTL_PDB: unsafe guardian.remember(argument)
        case SQLITE_FCNTL_PRAGMA: return unsafe pragma(argument)
        case SQLITE_FCNTL_MMAP_SIZE:
            // A memory mapping would show SQLite encrypted pages.
            unsafe argument?.storeBytes(of: 0, as: Int64.self)
            return SQLITE_OK
        case SQLITE_FCNTL_BEGIN_ATOMIC_WRITE, SQLITE_FCNTL_COMMIT_ATOMIC_WRITE,
            SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE:
            return SQLITE_NOTFOUND
        default: break
        }
        return unsafe lower.control(operation, argument)
    }

    private func pragma(_ argument: UnsafeMutableRawPointer?) -> Int32 {
        guard let words = unsafe PragmaNames(argument) else { return SQLITE_ERROR }
        guard !words.setsKey else { return words.refuseKey() }
        switch (words.name, words.hasValue) {
        // SQLite would change its own page size but not that of the codec.
        case ("page_size", true):
            return entry.isUnpinned ? SQLITE_NOTFOUND : words.answer("\(codec.pageSize)")
        case ("auto_vacuum", true): return prepareAutoVacuum(words.value ?? "")
        case ("mmap_size", _): return words.answer("0")
        case (EncryptedVFS.proofPragma, false): return proof(words)
        case (EncryptedVFS.guardPragma, false):
            return guardian.install() ? words.answer("on") : SQLITE_ERROR
        case (EncryptedVFS.forgetPragma, false):
            forget()
            return words.answer(entry.isRevoked ? "forgotten" : "kept")
        default: return SQLITE_NOTFOUND
        }
    }

    /// Discards everything that was derived from the key, and everything decrypted, if the key was revoked.
    private func forget() {
        guard entry.isRevoked else { return }
        codec = PageCodec(pageSize: codec.pageSize, reserve: codec.reserve, identity: codec.identity)
        knowsHeader = false
        for kept in [scratch, header, headerTail] { kept.region.zero() }
    }

    /// Answers the pragma that proves the encryption with the format's name, or with "plain" for an
    /// unencrypted or unreadable file. A file without pages does not count as unencrypted.
    private func proof(_ words: PragmaNames) -> Int32 {
        let isShort = lower.size.map { $0 < PageCodec.plainMagic.count } ?? false
        let isTold = isShort || Self.clearBytes(lower) != nil
        guard isTold, entry.plaintextHeader > 0 || clearBeginning == nil else {
            entry.diagnosis = clearBeginning
            return words.answer("plain")
        }
        return words.answer(entry.format.rawValue)
    }

    /// Locks the file. A connection whose key was revoked gets no lock, so it cannot begin to read even
    /// cached pages.
    override func lock(_ level: Int32) -> Int32 {
        guard !entry.isRevoked else { return SQLITE_AUTH_USER_CODE }
        // The last connection to close copies the WAL into the database and deletes the WAL. A connection
        // whose key has opened nothing must not do that.
        if level == SQLITE_LOCK_EXCLUSIVE, hasWAL, !isProven { return SQLITE_BUSY }
        if level == SQLITE_LOCK_RESERVED { end.fill(behind: 0) } else { end.forget() }
        // Check first without the lock, for which others wait while they create a database. Check again under
        // the lock, because another process can end its first transaction and begin the next one in between.
        let seemsEmptied = level == SQLITE_LOCK_SHARED && isEmptied
        let result = lower.lock(level)
        // SQLite checks this for journals on the disk only: what MEMORY and OFF write would be lost.
        let isMoved = level == SQLITE_LOCK_RESERVED && result == SQLITE_OK && hasMoved
        guard isMoved || seemsEmptied && result == SQLITE_OK && isEmptied else { return result }
        if !isMoved { entry.diagnosis = .emptied }
        _ = lower.unlock(isMoved ? SQLITE_LOCK_SHARED : SQLITE_LOCK_NONE)
        return isMoved ? SQLITE_READONLY_DBMOVED_CODE : SQLITE_NOTADB
    }

    override func shmMap(
        _ region: Int32, _ size: Int32, _ extend: Int32,
        _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        let status = unsafe lower.shmMap(region, size, extend, result)
        if region == 0 {
            let start = unsafe status == SQLITE_OK ? result?.pointee : nil
            indexHeader = unsafe start.map { unsafe SharedMemoryRegion($0, count: 48) }
        }
        return status
    }

    override func shmUnmap(_ delete: Int32) -> Int32 {
        indexHeader = nil
        return lower.shmUnmap(delete)
    }

    /// Locks or unlocks the WAL. After releasing the write lock, this connection may not rewrite any frames.
    override func shmLock(_ offset: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        if flags & SQLITE_SHM_LOCK != 0, entry.isRevoked { return SQLITE_AUTH_USER_CODE }
        if offset == 0, flags & SQLITE_SHM_EXCLUSIVE != 0 {
            if flags & SQLITE_SHM_UNLOCK != 0 {
                hasOverwrittenFrames = false
                markWALValid()
            }
            writeLockPeriod += 1
        }
        return lower.shmLock(offset, count, flags)
    }

    /// Records the valid part of the WAL. The caller still holds the write lock, so no other connection
    /// writes the header (SQLite, WAL-mode file format).
    private func markWALValid() {
        validWAL = indexHeader.map {
            ValidWAL(frames: $0.word32(16), salts: $0.word64(32), lockPeriod: writeLockPeriod)
        }
    }
}
