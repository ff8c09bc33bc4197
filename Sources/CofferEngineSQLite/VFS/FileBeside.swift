import CofferBase
import CofferEngine
import CSQLite
import SystemPackage

/// The files that SQLite keeps beside a database.
enum FileBeside {
    private static let journal = Array("-journal".utf8)
    private static let log = Array("-wal".utf8)
    private static let suffixes = [journal, log, Array("-shm".utf8)]

    /// Returns the reason to refuse a new database at a path; `nil` if the path is allowed.
    static func refusal(_ path: FilePath) -> CofferError? {
        let bytes = FileNameBytes.of(path)
        if isName(bytes) {
            return CofferError(
                .invalidInput,
                "\(path) is reserved for a file beside another database. Choose another name for the "
                    + "database.")
        }
        guard let suffix = [journal, log].first(where: { isStranger(bytes + $0, $0) }) else { return nil }
        return CofferError(
            .alreadyExists,
            "SQLite would remove \(path)\(String(decoding: suffix, as: UTF8.self)), which is not part of "
                + "the new database. Move that file, or choose another name for the database.")
    }

    /// Returns the reason to refuse a copy of a database at a path; `nil` if the path is allowed. A copy
    /// comes to its name when it is complete, so every journal or WAL there is another database's, and SQLite
    /// would play it back.
    static func refusalOfCopy(_ path: FilePath) -> CofferError? {
        if let refusal = refusal(path) { return refusal }
        let found = [journal, log].first { suffix in
            if case .vacant = SuperJournal.fileKind(at: FileNameBytes.of(path) + suffix) {
                false
            } else {
                true
            }
        }
        guard let found else { return nil }
        return CofferError(
            .alreadyExists,
            "SQLite would take \(path)\(String(decoding: found, as: UTF8.self)) for a part of the new "
                + "database. Move that file, or choose another name for the database.")
    }

    /// Reports whether a new database may be created at a path.
    static func allows(_ path: [UInt8]) -> Bool {
        !isName(path) && ![journal, log].contains { isStranger(path + $0, $0) }
    }

    /// Reports whether SQLite uses a path for a file beside an existing database. SQLite would treat a new
    /// file with this path as part of that database, and could play it back.
    private static func isName(_ path: [UInt8]) -> Bool {
        suffixes.contains { suffix in
            guard path.count > suffix.count, path.suffix(suffix.count).elementsEqual(suffix) else {
                return false
            }
            if case .vacant = SuperJournal.fileKind(at: path.dropLast(suffix.count)) { return false }
            return true
        }
    }

    /// Reports whether a file has the name of a journal or a WAL but does not begin like one. SQLite would
    /// remove or overwrite such a file when it creates the database.
    private static func isStranger(_ path: [UInt8], _ suffix: [UInt8]) -> Bool {
        guard case .file = SuperJournal.fileKind(at: path), let name = FileNameBytes.path(path) else {
            return false
        }
        let start = Scratch(count: 8)
        let count: Int?
        do throws(CofferError) {
            count = try read(name, into: start.region)
        } catch {
            // The file is gone if another process that creates the same database has just finished with it.
            return error.code != .absent
        }
        guard count == start.region.count else { return count != 0 }
        let isLog = start.region.bigEndian32(0) & ~1 == WALFile.magic
        // A finished journal begins with zeros.
        let isJournal = start.region.equals(JournalRecord.magic) || start.region.isZero
        return suffix == log ? !isLog : !isJournal
    }

    /// Reads the beginning of a file. Returns the number of bytes read; `nil` if the read fails.
    private static func read(_ name: FilePath, into start: SharedMemoryRegion) throws(CofferError) -> Int? {
        let file = try Descriptor.open(name, [.read, .nonBlocking])
        return start.withMutableSpan { try? file.read(at: 0, into: &$0) }
    }
}
