import CofferEngine

/// A codec that encrypts pages for the disk and decrypts them for SQLite. Each connection needs a separate
/// codec, because a codec contains its cipher contexts.
///
/// Like a `sqlite3_file`, a codec is not thread-safe. This base class cannot decrypt or encrypt pages; its
/// subclasses can.
class PageCodec {
    /// The page size in bytes, a power of two.
    final let pageSize: Int
    /// The binary logarithm of the page size.
    final let pageShift: Int
    /// The number of bytes at the end of each page that are reserved for the codec.
    final let reserve: Int
    /// The plaintext bytes at the start of page 1, either 16 or 32. SQLite's header has 20 zero bytes from
    /// offset 72 on (https://sqlite.org/fileformat2.html). Plaintext bytes beyond the first 16 occupy the
    /// space of those zeros, and the header bytes in between move.
    final let identity: [UInt8]

    /// The number of bytes in page 1 that SQLCipher's plaintext header leaves in plaintext, or 0 without such
    /// a header.
    final let plaintextHeader: Int

    /// The seal that authenticates journal headers.
    final let journalSeal: JournalSeal?

    /// The largest number of plaintext bytes in a database.
    static let maxClearLength = 32
    /// The offset of the 20 zero bytes in SQLite's header.
    private static let expansion = 72
    /// A buffer for page 1 while the page is being sealed; `nil` if none of the page's bytes move.
    private let moved: Scratch?

    init(
        pageSize: Int, reserve: Int, identity: [UInt8], plaintextHeader: Int = 0,
        journalSeal: JournalSeal? = nil
    ) {
        precondition(pageSize.nonzeroBitCount == 1)
        self.pageSize = pageSize
        pageShift = pageSize.trailingZeroBitCount
        self.reserve = reserve
        self.identity = identity
        self.plaintextHeader = plaintextHeader
        self.journalSeal = journalSeal
        moved = identity.count > Self.plainMagic.count ? Scratch(count: pageSize) : nil
    }

    /// Whether every journal of this database is sealed.
    var sealsEveryJournal: Bool { false }

    /// The first bytes of every unencrypted database.
    static let plainMagic = Array("SQLite format 3".utf8) + [0]

    /// Decrypts `page` in place. If it is not authentic, clears it and returns `false`.
    final func open(_ page: SharedMemoryRegion, number: UInt32) -> Bool {
        let first = number == 1 ? max(identity.count, plaintextHeader) : 0
        // Reject a page that was never written, even if its authentication data matches by chance.
        guard number >= 1, !page.part(pageSize - reserve, reserve).isZero,
            opened(page, from: first, number: number)
        else {
            page.zero()
            return false
        }
        if first > 0, plaintextHeader == 0 { restoreHeader(page) }
        // A plaintext header is not authenticated, so check its geometry.
        guard plaintextHeader == 0 || first == 0 || accepts(firstPage: page) else {
            page.zero()
            return false
        }
        page.part(pageSize - reserve, reserve).zero()
        return true
    }

    /// Encrypts `page` into `output`, which must be another page. Returns `false` if the page cannot be
    /// sealed.
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

    /// Reports whether `first`, the first bytes of page 1 on the disk, are those that this codec expects.
    final func begins(with first: [UInt8]) -> Bool {
        first.starts(with: plaintextHeader > 0 ? Self.plainMagic : identity)
    }

    /// Restores SQLite's header on page 1, which still begins with the file's plaintext bytes.
    private func restoreHeader(_ page: SharedMemoryRegion) {
        let start = Self.plainMagic.count
        let extra = identity.count - start
        if extra > 0 {
            // The two parts overlap, which Swift's memory copy allows.
            page.copy(page.part(identity.count, Self.expansion - start), at: start)
            page.part(Self.expansion, extra).zero()
        }
        page.copy(Self.plainMagic)
    }

    /// Reports whether page 1 has zeros where the plaintext bytes need space.
    private func hasRoom(_ page: SharedMemoryRegion) -> Bool {
        page.part(Self.expansion, identity.count - Self.plainMagic.count).isZero
    }

    /// Decrypts the page's bytes from `first` on in place. Returns `false` if they are not authentic.
    func opened(_ page: SharedMemoryRegion, from first: Int, number: UInt32) -> Bool { false }

    /// Encrypts the page's bytes from `first` on into `output`. Returns `false` if the cipher fails.
    func sealed(_ page: SharedMemoryRegion, from first: Int, number: UInt32, into output: SharedMemoryRegion)
        -> Bool
    { false }

    /// Reports whether a decrypted page 1 has the codec's page size and reserve, and room for the plaintext
    /// bytes. Without this check, the page size or the reserve could change unnoticed.
    final func accepts(firstPage page: SharedMemoryRegion) -> Bool {
        page.part(0, Self.plainMagic.count).equals(Self.plainMagic)
            && Int(page[16]) << 8 | Int(page[17]) << 16 == pageSize && Int(page[20]) == reserve
            && hasRoom(page)
    }

    /// Writes a header that states the geometry. SQLite reads this header from a database whose first page is
    /// missing or cannot be opened.
    ///
    /// If `hasPointerMap` is `true`, SQLite creates a new database with the pages that `auto_vacuum` needs.
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
