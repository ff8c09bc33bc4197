import CSQLite

/// One open file of the shim: what it is, the file below it, and what a read and a write do.
///
/// A `sqlite3_file` belongs to one connection, which uses it from one thread at a time.
class ShimFile {
    final let lower: LowerFile

    init(lower: LowerFile) { self.lower = lower }

    func read(_ region: Region, at offset: Int64) -> Int32 { lower.read(region, at: offset) }

    func write(_ region: Region, at offset: Int64) -> Int32 { lower.write(region, at: offset) }

    func truncate(to size: Int64) -> Int32 { lower.truncate(to: size) }

    func sync(_ flags: Int32) -> Int32 { lower.sync(flags) }

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

/// A super-journal: names of journals and nothing else, in clear.
final class PlainFile: ShimFile {}

/// A journal that is opened to be looked at only, as SQLite does to see whether it is hot and which
/// super-journal it names: page images stay out of reach.
final class JournalGlance: ShimFile {
    override func read(_ region: Region, at offset: Int64) -> Int32 {
        region.count < CodecFormat.sqlcipher3.pageSize ? lower.read(region, at: offset) : SQLITE_IOERR
    }

    override func write(_ region: Region, at offset: Int64) -> Int32 { SQLITE_IOERR }
}

/// A nameless file: sorter, statement journal, temporary database.
final class TemporaryFile: ShimFile {
    private let cipher: TemporaryCipher
    private let scratch = Scratch(count: 8192)

    init?(encrypting lower: LowerFile) {
        guard let cipher = TemporaryCipher() else { return nil }
        self.cipher = cipher
        super.init(lower: lower)
    }

    override func read(_ region: Region, at offset: Int64) -> Int32 {
        let result = lower.read(region, at: offset)
        var count = region.count
        if result == SQLITE_IOERR_SHORT_READ_CODE {
            guard let size = lower.size else { return SQLITE_IOERR }
            count = Int(max(0, min(Int64(count), size - offset)))
        } else if result != SQLITE_OK {
            return result
        }
        let part = region.part(0, count)
        guard cipher.run(part, at: offset, into: part) else { return SQLITE_IOERR }
        region.part(count, region.count - count).zero()
        return result
    }

    override func write(_ region: Region, at offset: Int64) -> Int32 {
        var done = 0
        while done < region.count {
            let piece = region.part(done, min(region.count - done, scratch.region.count))
            let output = scratch.region.part(0, piece.count)
            guard cipher.run(piece, at: offset + Int64(done), into: output) else { return SQLITE_IOERR }
            let result = lower.write(output, at: offset + Int64(done))
            guard result == SQLITE_OK else { return result }
            done += piece.count
        }
        return SQLITE_OK
    }
}
