import CofferBase
import CofferEngine
import CSQLite
import SystemPackage

/// The files that SQLite keeps beside a database.
enum FileBeside {
    private static let journal = Array("-journal".utf8)
    private static let log = Array("-wal".utf8)
    private static let suffixes = [journal, log, Array("-shm".utf8)]

    /// Why no new database may have a path; `nil` when it may.
    static func refusal(_ path: FilePath) -> CofferError? {
        let bytes = FileNameBytes.of(path)
        if isName(bytes) {
            return CofferError(
                .invalidInput, "\(path) is the name of a file beside another database: choose another name.")
        }
        guard let suffix = [journal, log].first(where: { isStranger(bytes + $0, $0) }) else { return nil }
        return CofferError(
            .alreadyExists,
            "\(path)\(String(decoding: suffix, as: UTF8.self)) would be removed as a part of the new "
                + "database, and is none: move it, or choose another name.")
    }

    /// Whether a new database may have a path.
    static func allows(_ path: [UInt8]) -> Bool {
        !isName(path) && ![journal, log].contains { isStranger(path + $0, $0) }
    }

    /// Whether SQLite would take a new file with this path for a part of a database that is there: it would
    /// then be played back into that one.
    private static func isName(_ path: [UInt8]) -> Bool {
        suffixes.contains { suffix in
            guard path.count > suffix.count, path.suffix(suffix.count).elementsEqual(suffix) else {
                return false
            }
            if case .vacant = SuperJournal.place(path.dropLast(suffix.count)) { return false }
            return true
        }
    }

    /// Whether a file has the name of a journal or a WAL, and begins as none: SQLite removes it, or writes
    /// over it, when it makes the database.
    private static func isStranger(_ path: [UInt8], _ suffix: [UInt8]) -> Bool {
        guard case .file = SuperJournal.place(path), let name = FileNameBytes.path(path) else { return false }
        let start = Scratch(count: 8)
        let count: Int?
        do throws(CofferError) {
            count = try read(name, into: start.region)
        } catch {
            // Another process that makes the same database has just done with it.
            return error.code != .absent
        }
        guard count == start.region.count else { return count != 0 }
        let isLog = start.region.bigEndian32(0) & ~1 == WALFile.magic
        // A journal that is done with begins with zeros.
        let isJournal = start.region.equals(JournalRecord.magic) || start.region.isZero
        return suffix == log ? !isLog : !isJournal
    }

    /// Reads the beginning of a file; returns how much of it is there, `nil` where that cannot be told.
    private static func read(_ name: FilePath, into start: SharedMemoryRegion) throws(CofferError) -> Int? {
        let file = try Descriptor.open(name, [.read, .nonBlocking])
        return start.withMutableSpan { try? file.read(at: 0, into: &$0) }
    }
}
