import CSQLite

/// A record in a rollback journal as stored on the disk: the page number, the page and the checksum.
struct JournalRecord {
    enum State {
        /// The checksum matches, and the page is authentic.
        case whole
        /// The checksum matches, but the page is not authentic, which a crash does not cause.
        case altered
        /// The checksum differs by an amount that one flipped bit in the page, the checksum or the header can
        /// cause.
        case flipped
        /// The checksum does not match, or the record is incomplete.
        case torn
        /// The record cannot be read, for the reason in SQLite's result code.
        case unreadable(Int32)
    }

    /// The magic at the start of every header.
    static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    private static let sampleStep = 200

    private let bytes: Scratch
    private let codec: PageCodec
    /// The page number that was last read.
    private(set) var number: UInt32 = 0
    /// Whether the page that was last read opens, regardless of its checksum.
    private(set) var isAuthentic = false

    init(codec: PageCodec) {
        self.codec = codec
        bytes = Scratch(count: codec.pageSize + 8)
    }

    var size: Int64 { Int64(bytes.region.count) }

    /// The page that was last read, decrypted if it is authentic and otherwise all zeros.
    var page: SharedMemoryRegion { bytes.region.part(4, codec.pageSize) }

    /// Returns the sum of every 200th byte, to which SQLite adds a start value to compute a checksum.
    static func sampledChecksum(_ page: SharedMemoryRegion) -> UInt32 {
        var sum: UInt32 = 0
        var index = page.count - sampleStep
        while index > 0 {
            sum &+= UInt32(page[index])
            index -= sampleStep
        }
        return sum
    }

    /// Reads the record at `offset`, in a segment whose checksums begin with `start`.
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
        // One flipped bit of the page changes the sum by less than 256.
        let isOneBit = Self.isPower(difference) && (isAuthentic || Self.distance(difference) < 256)
        return isOneBit ? .flipped : .torn
    }

    private static func distance(_ difference: UInt32) -> UInt32 { min(difference, 0 &- difference) }

    /// Reports whether the difference, with either sign, is a power of two.
    private static func isPower(_ difference: UInt32) -> Bool { distance(difference).nonzeroBitCount == 1 }
}
