import CofferEngine

/// A seal that authenticates the headers of a rollback journal. The seal of a header is in the part of the
/// header's sector that SQLite does not use.
///
/// SQLite trusts the number of records, the database's former size and the rest of a header. The journal's
/// random number (16) and the tag (32) follow the 28 bytes of the header. In a journal that SQLCipher
/// or an early version of Coffer wrote, these bytes are zero.
struct JournalSeal {
    static let headerSize = 28
    static let sectorSize = 512
    private static let numberOffset = headerSize
    static let numberSize = 16
    private static let tagOffset = numberOffset + numberSize
    private static let tagSize = 32

    private let mac: PageMAC
    /// The authenticated data: the offset (8), the header (28) and the journal's number (16).
    private let work = Scratch(count: 8 + headerSize + numberSize)
    private let tag = Scratch(count: tagSize)

    /// Creates a seal. Returns `nil` if OpenSSL fails, which happens only when memory runs out.
    init?(keys: DerivedKeys) {
        guard let key = try? keys.journalKey(), let mac = PageMAC("SHA256", size: Self.tagSize, key: key.span)
        else { return nil }
        self.mac = mac
    }

    /// Writes the number and the tag into a sector that begins with a header. Returns `false` if OpenSSL
    /// fails.
    func seal(_ sector: SharedMemoryRegion, at offset: Int64, number: SharedMemoryRegion) -> Bool {
        sector.copy(number, at: Self.numberOffset)
        return authenticate(
            sector, at: offset, number: number, tag: sector.part(Self.tagOffset, Self.tagSize))
    }

    /// Reports whether the header in the sector is authentic at this offset in the journal with this number.
    func isAuthentic(_ sector: SharedMemoryRegion, at offset: Int64, number: SharedMemoryRegion) -> Bool {
        authenticate(sector, at: offset, number: number, tag: tag.region)
            && PageMAC.equal(tag.region, sector.part(Self.tagOffset, Self.tagSize))
    }

    private func authenticate(
        _ sector: SharedMemoryRegion, at offset: Int64, number: SharedMemoryRegion, tag: SharedMemoryRegion
    ) -> Bool {
        work.region.setBigEndian32(UInt32(truncatingIfNeeded: offset >> 32), at: 0)
        work.region.setBigEndian32(UInt32(truncatingIfNeeded: offset), at: 4)
        work.region.copy(sector.part(0, Self.headerSize), at: 8)
        work.region.copy(number, at: 8 + Self.headerSize)
        let body = work.region.part(8, work.region.count - 8)
        return mac.authenticate(body, number: work.region.part(0, 8), tag: tag)
    }

    /// Reports whether the sector has a seal, authentic or not.
    static func isSealed(_ sector: SharedMemoryRegion) -> Bool {
        !sector.part(numberOffset, numberSize + tagSize).isZero
    }

    /// Returns the journal's number, which the sector contains.
    static func number(in sector: SharedMemoryRegion) -> SharedMemoryRegion {
        sector.part(numberOffset, numberSize)
    }
}
