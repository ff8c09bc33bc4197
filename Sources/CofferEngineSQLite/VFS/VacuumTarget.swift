import CSQLite
import CofferBase
import Glibc
import Synchronization

/// The copy that a `VACUUM INTO` on this thread is about to make.
///
/// SQLite attaches it by its bare name and does not tell the VFS for which connection. So the authorizer,
/// which SQLite asks just before, says so: the copy gets the key of its source, and its clear bytes, because
/// a key may go with one salt only. As a copied file does, it takes pages of its source for its own.
struct VacuumTarget: Sendable {
    let entry: KeyEntry
    /// The clear bytes of the source's first page.
    let identity: [UInt8]

    private static let expected = Mutex<[UInt: (path: [UInt8], target: VacuumTarget)]>([:])

    /// Expects the file with this full path to be opened next on this thread.
    static func expect(_ path: [UInt8], _ target: VacuumTarget) {
        let thread = UInt(pthread_self())
        expected.withLock { $0[thread] = (path, target) }
    }

    /// Returns the target when the file that is opened is the expected one.
    static func take(_ path: [UInt8]) -> VacuumTarget? {
        let thread = UInt(pthread_self())
        return expected.withLock { expected in
            guard let found = expected.removeValue(forKey: thread) else { return nil }
            return found.path == path ? found.target : nil
        }
    }

    /// Whether the connection runs a `VACUUM`.
    static func isVacuuming(_ connection: OpaquePointer) -> Bool {
        var statement = unsafe sqlite3_next_stmt(connection, nil)
        while let current = unsafe statement {
            if unsafe sqlite3_stmt_busy(current) != 0, let text = unsafe sqlite3_sql(current),
                unsafe firstWord(CText.bytes(text)) == "vacuum"
            {
                return true
            }
            unsafe statement = unsafe sqlite3_next_stmt(connection, current)
        }
        return false
    }

    /// The first word of a statement, in lower case, behind white space and comments.
    static func firstWord(_ statement: [UInt8]) -> String {
        var rest = statement[...]
        while let byte = rest.first {
            if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            } else if byte <= UInt8(ascii: " ") || byte == UInt8(ascii: ";") {
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return String(decoding: rest.prefix { letters.contains($0 | 0x20) }, as: UTF8.self).foldedASCII
    }
}
