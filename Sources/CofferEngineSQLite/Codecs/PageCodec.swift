import CofferEngine

/// What turns one page into its form on the disk and back, with contexts of its own: one for each connection.
///
/// Not thread-safe, as a `sqlite3_file` is not either. This class itself opens and seals nothing.
class PageCodec {
    /// The size of a page.
    final let pageSize: Int
    /// The bytes at the end of each page that the codec keeps for itself.
    final let reserve: Int
    /// The clear bytes at the start of page 1.
    final let identity: [UInt8]

    /// How many bytes of the first page stay as they are, with SQLCipher's plaintext header; otherwise 0.
    final let plaintextHeader: Int

    /// The seal that authenticates the headers of journals.
    final let journalSeal: JournalSeal?

    static let clearSize = 16

    init(
        pageSize: Int, reserve: Int, identity: [UInt8], plaintextHeader: Int = 0,
        journalSeal: JournalSeal? = nil
    ) {
        self.pageSize = pageSize
        self.reserve = reserve
        self.identity = identity
        self.plaintextHeader = plaintextHeader
        self.journalSeal = journalSeal
    }

    /// The first bytes of every database in clear.
    static let plainMagic = Array("SQLite format 3".utf8) + [0]

    /// Decrypts `page` in place; when it is not authentic, clears it and gives `false`.
    final func open(_ page: Region, number: UInt32) -> Bool {
        let first = number == 1 ? max(Self.clearSize, plaintextHeader) : 0
        // A page that was never written is no page, though its authentication data were to fit by chance.
        guard number >= 1, !page.part(pageSize - reserve, reserve).isZero,
            opened(page, from: first, number: number)
        else {
            page.zero()
            return false
        }
        if first > 0, plaintextHeader == 0 { page.copy(Self.plainMagic) }
        // Nothing authenticates a plaintext header.
        guard plaintextHeader == 0 || first == 0 || accepts(firstPage: page) else {
            page.zero()
            return false
        }
        page.part(pageSize - reserve, reserve).zero()
        return true
    }

    /// Encrypts `page` into `output`, which is another page.
    final func seal(_ page: Region, number: UInt32, into output: Region) -> Bool {
        guard number >= 1 else { return false }
        guard number == 1 else { return sealed(page, from: 0, number: number, into: output) }
        output.copy(identity)
        output.copy(page.part(0, plaintextHeader))
        return sealed(page, from: max(Self.clearSize, plaintextHeader), number: 1, into: output)
    }

    /// Whether a first page on the disk begins as this codec's does.
    final func begins(with first: [UInt8]) -> Bool {
        first == (plaintextHeader > 0 ? Self.plainMagic : identity)
    }

    /// Opens the page's bytes from `first` on in place.
    func opened(_ page: Region, from first: Int, number: UInt32) -> Bool { false }

    /// Seals the page's bytes from `first` on.
    func sealed(_ page: Region, from first: Int, number: UInt32, into output: Region) -> Bool { false }

    /// Whether a page 1 in clear is one that this codec can keep: otherwise the page size or the room for the
    /// authentication data would change under it.
    final func accepts(firstPage page: Region) -> Bool {
        page.part(0, Self.plainMagic.count).equals(Self.plainMagic)
            && Int(page[16]) << 8 | Int(page[17]) << 16 == pageSize && Int(page[20]) == reserve
    }

    /// What SQLite is told of a database whose first page is missing or cannot be opened: its geometry.
    ///
    /// With `hasPointerMap`, a new database gets the pages that `auto_vacuum` needs.
    final func writeHeader(into region: Region, hasPointerMap: Bool) {
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
