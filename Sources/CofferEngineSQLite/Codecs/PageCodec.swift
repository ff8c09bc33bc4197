import CofferEngine

/// What turns one page into its form on the disk and back, with contexts of its own: one for each connection.
///
/// Not thread-safe, as a `sqlite3_file` is not either. This class itself opens and seals nothing.
class PageCodec {
    /// The size of a page.
    final let pageSize: Int
    /// The bytes at the end of each page that the codec keeps for itself.
    final let reserve: Int
    /// The clear bytes at the start of page 1: 16, or 32. Beyond 16 they take the room of the bytes after 71
    /// of SQLite's header, which are zero (https://sqlite.org/fileformat2.html): what stands between moves.
    final let identity: [UInt8]

    /// How many bytes of the first page stay as they are, with SQLCipher's plaintext header; otherwise 0.
    final let plaintextHeader: Int

    /// The seal that authenticates the headers of journals.
    final let journalSeal: JournalSeal?

    /// The most clear bytes that a database has.
    static let maxClearLength = 32
    /// Where SQLite's header has 20 bytes that are zero.
    private static let expansion = 72
    /// Page 1 as it is sealed, where bytes of it move.
    private let moved: Scratch?

    init(
        pageSize: Int, reserve: Int, identity: [UInt8], plaintextHeader: Int = 0,
        journalSeal: JournalSeal? = nil
    ) {
        self.pageSize = pageSize
        self.reserve = reserve
        self.identity = identity
        self.plaintextHeader = plaintextHeader
        self.journalSeal = journalSeal
        moved = identity.count > Self.plainMagic.count ? Scratch(count: pageSize) : nil
    }

    /// Whether every journal of this database has seals.
    var sealsEveryJournal: Bool { false }

    /// The first bytes of every database in clear.
    static let plainMagic = Array("SQLite format 3".utf8) + [0]

    /// Decrypts `page` in place; when it is not authentic, clears it and gives `false`.
    final func open(_ page: SharedMemoryRegion, number: UInt32) -> Bool {
        let first = number == 1 ? max(identity.count, plaintextHeader) : 0
        // A page that was never written is no page, though its authentication data were to fit by chance.
        guard number >= 1, !page.part(pageSize - reserve, reserve).isZero,
            opened(page, from: first, number: number)
        else {
            page.zero()
            return false
        }
        if first > 0, plaintextHeader == 0 { restoreHeader(page) }
        // Nothing authenticates a plaintext header.
        guard plaintextHeader == 0 || first == 0 || accepts(firstPage: page) else {
            page.zero()
            return false
        }
        page.part(pageSize - reserve, reserve).zero()
        return true
    }

    /// Encrypts `page` into `output`, which is another page.
    final func seal(_ page: SharedMemoryRegion, number: UInt32, into output: SharedMemoryRegion) -> Bool {
        guard number >= 1 else { return false }
        guard number == 1 else { return sealed(page, from: 0, number: number, into: output) }
        guard hasRoom(page) else { return false }
        output.copy(identity)
        output.copy(page.part(0, plaintextHeader))
        guard let moved = moved?.region else {
            return sealed(page, from: max(identity.count, plaintextHeader), number: number, into: output)
        }
        let start = Self.plainMagic.count
        moved.copy(page)
        moved.copy(page.part(start, Self.expansion - start), at: identity.count)
        defer { moved.zero() }
        return sealed(moved, from: identity.count, number: number, into: output)
    }

    /// Whether a first page on the disk begins as this codec's does.
    final func begins(with first: [UInt8]) -> Bool {
        first.starts(with: plaintextHeader > 0 ? Self.plainMagic : identity)
    }

    /// Makes of page 1, whose clear bytes are still there, what SQLite knows.
    private func restoreHeader(_ page: SharedMemoryRegion) {
        let start = Self.plainMagic.count
        let extra = identity.count - start
        if extra > 0 {
            // Both parts overlap: a copy of memory in Swift allows for that.
            page.copy(page.part(identity.count, Self.expansion - start), at: start)
            page.part(Self.expansion, extra).zero()
        }
        page.copy(Self.plainMagic)
    }

    /// Whether the bytes of page 1 are zero whose room the clear bytes take.
    private func hasRoom(_ page: SharedMemoryRegion) -> Bool {
        page.part(Self.expansion, identity.count - Self.plainMagic.count).isZero
    }

    /// Opens the page's bytes from `first` on in place.
    func opened(_ page: SharedMemoryRegion, from first: Int, number: UInt32) -> Bool { false }

    /// Seals the page's bytes from `first` on.
    func sealed(_ page: SharedMemoryRegion, from first: Int, number: UInt32, into output: SharedMemoryRegion)
        -> Bool
    { false }

    /// Whether a page 1 in clear is one that this codec can keep: otherwise the page size or the room for the
    /// authentication data would change under it.
    final func accepts(firstPage page: SharedMemoryRegion) -> Bool {
        page.part(0, Self.plainMagic.count).equals(Self.plainMagic)
            && Int(page[16]) << 8 | Int(page[17]) << 16 == pageSize && Int(page[20]) == reserve
            && hasRoom(page)
    }

    /// What SQLite is told of a database whose first page is missing or cannot be opened: its geometry.
    ///
    /// With `hasPointerMap`, a new database gets the pages that `auto_vacuum` needs.
    final func writeHeader(into region: SharedMemoryRegion, hasPointerMap: Bool) {
        region.zero()
        let header =
            Self.plainMagic + [
                UInt8(truncatingIfNeeded: pageSize >> 8), UInt8(truncatingIfNeeded: pageSize >> 16),
            ]
            + [1, 1, UInt8(reserve), 64, 32, 32]
        region.copy(Array(header.prefix(region.count)))
        if hasPointerMap { region.setBigEndian32(1, at: 52) }
    }
}
