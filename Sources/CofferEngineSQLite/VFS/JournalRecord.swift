import CSQLite

/// One record of a rollback journal as it lies on the disk: page number, page, checksum.
struct JournalRecord {
    enum State {
        /// The checksum fits, and the page is authentic.
        case whole
        /// The checksum fits, and the page is not authentic: no crash does that.
        case altered
        /// The checksum does not fit by what one bit makes: of the page, of the checksum, of the header.
        case flipped
        /// The checksum does not fit, or there is less than a record.
        case torn
        /// It cannot be read.
        case unreadable(Int32)
    }

    /// The journal's magic.
    static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    private static let sampleStep = 200

    private let bytes: Scratch
    private let codec: PageCodec
    /// The page number that was read last.
    private(set) var number: UInt32 = 0
    /// Whether the page that was read last opens, whatever its checksum is.
    private(set) var isAuthentic = false

    init(codec: PageCodec) {
        self.codec = codec
        bytes = Scratch(count: codec.pageSize + 8)
    }

    var size: Int64 { Int64(bytes.region.count) }

    /// The page that was read last; in clear, when it is whole.
    var page: SharedMemoryRegion { bytes.region.part(4, codec.pageSize) }

    /// The sum over every 200th byte that SQLite's checksum is made of.
    static func sampledChecksum(_ page: SharedMemoryRegion) -> UInt32 {
        var sum: UInt32 = 0
        var index = page.count - sampleStep
        while index > 0 {
            sum &+= UInt32(page[index])
            index -= sampleStep
        }
        return sum
    }

    /// Reads the record at `offset`, whose segment's checksums begin with `start`.
    mutating func read(_ lower: UnderlyingFile, at offset: Int64, start: UInt32) -> State {
        isAuthentic = false
        let result = lower.read(bytes.region, at: offset)
        guard result != SQLITE_IOERR_SHORT_READ_CODE else { return .torn }
        guard result == SQLITE_OK else { return .unreadable(result) }
        number = bytes.region.bigEndian32(0)
        let expected = Self.sampledChecksum(page) &+ start
        let difference = bytes.region.bigEndian32(4 + codec.pageSize) &- expected
        isAuthentic = codec.open(page, number: number)
        if difference == 0 { return isAuthentic ? .whole : .altered }
        // A flipped byte of the page changes the sum by less than 256.
        let isOneBit = Self.isPower(difference) && (isAuthentic || Self.distance(difference) < 256)
        return isOneBit ? .flipped : .torn
    }

    private static func distance(_ difference: UInt32) -> UInt32 { min(difference, 0 &- difference) }

    /// Whether one bit more or less makes the difference.
    private static func isPower(_ difference: UInt32) -> Bool { distance(difference).nonzeroBitCount == 1 }
}
