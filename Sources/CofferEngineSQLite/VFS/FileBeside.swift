import CofferBase
import CofferEngine
import SystemPackage

/// The files that SQLite keeps beside a database.
enum FileBeside {
    private static let suffixes = ["-journal", "-wal", "-shm"].map { Array($0.utf8) }

    /// Whether SQLite would take a new file with this path for a part of a database that is there: it would
    /// then be played back into that one.
    static func isName(_ path: [UInt8]) -> Bool {
        suffixes.contains { suffix in
            guard path.count > suffix.count, path.suffix(suffix.count).elementsEqual(suffix) else {
                return false
            }
            if case .vacant = SuperJournal.place(path.dropLast(suffix.count)) { return false }
            return true
        }
    }

    static func isName(_ path: FilePath) -> Bool { isName(FileNameBytes.of(path)) }

    static func refusal(_ path: FilePath) -> CofferError {
        CofferError(
            .invalidInput, "\(path) is the name of a file beside another database: choose another name.")
    }
}
