import CSQLite
import Glibc

/// The super-journal of a transaction that spans several databases. Each database's journal ends with the
/// super-journal's name, and deleting the super-journal commits the transaction.
///
/// SQLite opens the file whose name is at the end of a journal, and finally deletes this file. Therefore only
/// names that SQLite itself generates are accepted: the path of a database followed by `-mjXXXXXX9XX`.
enum SuperJournal {
    /// The end of a journal.
    enum Ending {
        /// The journal ends with no name, or with a name that SQLite does not accept.
        case none
        /// The journal ends with the name of a super-journal, in a part that begins at `start`.
        case name([UInt8], start: Int64)
        /// The journal ends with a name that SQLite accepts but did not generate.
        case stranger
        case unreadable(Int32)
    }

    /// The kind of file at a path.
    enum FileKind {
        /// There is no file, or an empty file, which SQLite treats as missing.
        case vacant
        case file
        /// The file is a pipe, a device or a directory. Opening it could block forever.
        case noFile
        /// The kind of file cannot be determined.
        case unreadable
    }

    private static let trailerSize: Int64 = 16
    private static let numberSize: Int64 = 4
    private static let form = Array("-mjXXXXXX9XX".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Parses the end of a journal of `size` bytes: a page number that no page has, the name, the name's
    /// length, the sum of the name's bytes, and the journal's magic.
    static func ending(_ size: Int64, _ read: (SharedMemoryRegion, Int64) -> Int32) -> Ending {
        guard size >= trailerSize else { return .none }
        let trailer = Scratch(count: Int(trailerSize))
        let result = read(trailer.region, size - trailerSize)
        guard result == SQLITE_OK else { return .unreadable(result) }
        let (count, sum) = (Int64(trailer.region.bigEndian32(0)), trailer.region.bigEndian32(4))
        guard trailer.region.part(8, 8).equals(JournalRecord.magic), count > 0,
            count <= min(EncryptedVFS.maxPathLength, size - trailerSize)
        else { return .none }
        let text = Scratch(count: Int(count))
        let start = size - trailerSize - count
        let textResult = read(text.region, start)
        guard textResult == SQLITE_OK else { return .unreadable(textResult) }
        let name = text.region.bytes
        guard hasSum(name, sum) else { return .none }
        return isName(name) ? .name(name, start: max(0, start - numberSize)) : .stranger
    }

    /// Reports whether `sum` is the sum of the bytes. SQLite adds them up as C's `char`, which is signed on
    /// some machines and unsigned on others.
    private static func hasSum(_ name: [UInt8], _ sum: UInt32) -> Bool {
        let signed = name.reduce(UInt32(0)) { $0 &+ UInt32(truncatingIfNeeded: Int8(bitPattern: $1)) }
        return sum == signed || sum == name.reduce(UInt32(0)) { $0 &+ UInt32($1) }
    }

    /// Reports whether a path has the form of a name that SQLite generates.
    static func isName(_ path: [UInt8]) -> Bool {
        path.first == UInt8(ascii: "/") && path.count > form.count && !path.contains(0)
            && zip(form, path.suffix(form.count)).allSatisfy { form, byte in
                form == UInt8(ascii: "X") ? digits.contains(byte) : form == byte
            }
    }

    /// Reports whether SQLite opens files with this name as super-journals. SQLite also does so to read the
    /// journals that a super-journal lists.
    static func mayOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Bool {
        let isReading = flags & SQLITE_OPEN_READONLY != 0
        return unsafe isReading && hasEnd(path, "-journal") || isName(CText.bytes(path))
    }

    /// Reports whether SQLite deletes files with this name. SQLite deletes files under locks that others wait
    /// for, so this function copies the name only if the first checks do not decide.
    static func mayDelete(_ path: UnsafePointer<CChar>) -> Bool {
        unsafe hasEnd(path, "-wal") || hasEnd(path, "-journal") || isName(CText.bytes(path))
    }

    private static func hasEnd(_ path: UnsafePointer<CChar>, _ end: StaticString) -> Bool {
        let (size, count) = (unsafe strlen(path), end.utf8CodeUnitCount)
        return unsafe size >= count && memcmp(path + size - count, end.utf8Start, count) == 0
    }

    /// Returns the kind of file at `path`.
    static func fileKind(at path: [UInt8]) -> FileKind {
        unsafe fileKind(at: (path + [0]).map { CChar(bitPattern: $0) })
    }

    /// Returns the kind of file at `path`, following symbolic links as SQLite does.
    static func fileKind(at path: UnsafePointer<CChar>) -> FileKind {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? .vacant : .unreadable
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .noFile }
        return status.st_size > 0 ? .file : .vacant
    }
}
