import CSQLite

/// An open file in the encrypting VFS. Each subclass implements one kind of file; this class passes every
/// call to the underlying VFS's file.
///
/// A file belongs to one connection, which uses it from one thread at a time.
class EncryptedFile {
    final let lower: UnderlyingFile

    init(lower: UnderlyingFile) { self.lower = lower }

    func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 { lower.read(region, at: offset) }

    func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 { lower.write(region, at: offset) }

    func truncate(to size: Int64) -> Int32 { lower.truncate(to: size) }

    func sync(_ flags: Int32) -> Int32 { lower.sync(flags) }

    func fileSize(_ size: UnsafeMutablePointer<Int64>?) -> Int32 { unsafe lower.fileSize(size) }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        unsafe lower.control(operation, argument)
    }

    func lock(_ level: Int32) -> Int32 { lower.lock(level) }

    func shmMap(
        _ region: Int32, _ size: Int32, _ extend: Int32,
        _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        unsafe lower.shmMap(region, size, extend, result)
    }

    func shmUnmap(_ delete: Int32) -> Int32 { lower.shmUnmap(delete) }

    func shmLock(_ offset: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        lower.shmLock(offset, count, flags)
    }

    func close() -> Int32 { lower.close() }
}

/// A super-journal, which contains only the names of journals, in plaintext.
final class PlainFile: EncryptedFile {
    private static let nameEnd = Array("-journal".utf8) + [0]

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        let end = Self.nameEnd
        guard region.count > end.count, region[0] == UInt8(ascii: "/"),
            region.part(region.count - end.count, end.count).equals(end)
        else { return SQLITE_IOERR }
        return lower.write(region, at: offset)
    }
}

/// A journal that SQLite opens read-only to check whether the journal is hot and which super-journal it
/// refers to. Reading page images fails.
final class JournalState: EncryptedFile {
    override func read(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 {
        region.count < CodecFormat.sqlcipher3.pageSize ? lower.read(region, at: offset) : SQLITE_IOERR
    }

    override func write(_ region: SharedMemoryRegion, at offset: Int64) -> Int32 { SQLITE_IOERR }
}
