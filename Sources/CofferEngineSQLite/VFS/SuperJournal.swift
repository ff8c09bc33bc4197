import CSQLite
import Glibc

/// The super-journal of a transaction over several databases. The journal of each ends in its name, and the
/// transaction is committed once it is gone.
///
/// SQLite opens what a journal names there, and at last deletes it. So only a name is believed that SQLite
/// itself makes: the path of a database and `-mjXXXXXX9XX`.
enum SuperJournal {
    /// What stands at the end of a journal.
    enum Ending {
        /// No name, or none that SQLite believes.
        case none
        /// A super-journal's name, in a part that begins at `start`.
        case name([UInt8], start: Int64)
        /// A name that SQLite believes and did not make.
        case stranger
        case unreadable(Int32)
    }

    /// What stands where a name leads.
    enum Place {
        /// Nothing, or an empty file, which SQLite takes for nothing.
        case vacant
        case file
        /// A pipe, a device, a directory: opening it could wait for ever.
        case noFile
        /// Nobody can say.
        case unreadable
    }

    private static let trailerSize: Int64 = 16
    private static let numberSize: Int64 = 4
    private static let form = Array("-mjXXXXXX9XX".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// What stands at the end of a journal of `size` bytes: a page number that no page has, the name, its
    /// length, the sum of its bytes, and the journal's magic.
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

    /// SQLite adds the bytes up as C's `char`, which has a sign on one machine and none on another.
    private static func hasSum(_ name: [UInt8], _ sum: UInt32) -> Bool {
        let signed = name.reduce(UInt32(0)) { $0 &+ UInt32(truncatingIfNeeded: Int8(bitPattern: $1)) }
        return sum == signed || sum == name.reduce(UInt32(0)) { $0 &+ UInt32($1) }
    }

    /// Whether SQLite makes such names.
    static func isName(_ path: [UInt8]) -> Bool {
        path.first == UInt8(ascii: "/") && path.count > form.count && !path.contains(0)
            && zip(form, path.suffix(form.count)).allSatisfy { form, byte in
                form == UInt8(ascii: "X") ? digits.contains(byte) : form == byte
            }
    }

    /// Whether SQLite opens files of this name as super-journals: to look into it, also one of the journals
    /// that it lists.
    static func mayOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Bool {
        let isLook = flags & SQLITE_OPEN_READONLY != 0
        return unsafe isLook && hasEnd(path, "-journal") || isName(CText.bytes(path))
    }

    /// Whether SQLite deletes files of this name. It does so under locks that others wait for, so without
    /// making an array of the name first.
    static func mayDelete(_ path: UnsafePointer<CChar>) -> Bool {
        unsafe hasEnd(path, "-wal") || hasEnd(path, "-journal") || isName(CText.bytes(path))
    }

    private static func hasEnd(_ path: UnsafePointer<CChar>, _ end: StaticString) -> Bool {
        let (size, count) = (unsafe strlen(path), end.utf8CodeUnitCount)
        return unsafe size >= count && memcmp(path + size - count, end.utf8Start, count) == 0
    }

    /// What stands at `path`.
    static func place(_ path: [UInt8]) -> Place {
        unsafe place((path + [0]).map { CChar(bitPattern: $0) })
    }

    /// What stands at `path`, followed through links as SQLite follows them.
    static func place(_ path: UnsafePointer<CChar>) -> Place {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? .vacant : .unreadable
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .noFile }
        return status.st_size > 0 ? .file : .vacant
    }
}
