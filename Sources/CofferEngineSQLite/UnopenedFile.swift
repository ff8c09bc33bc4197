package import CofferBase
import CofferEngine
import Glibc
package import SystemPackage

/// A namespace for functions that determine why SQLite could not open a database file. SQLite itself does not
/// report the reason.
package enum UnopenedFile {
    /// Returns the error for a file that SQLite could not open; `nil` if nothing about the file explains the
    /// failure.
    ///
    /// This function opens no descriptor for the database: closing one would drop SQLite's locks on the file.
    ///
    /// - Parameter path: The database's absolute path.
    /// - Returns: An error with the code `absent`, `alreadyExists`, `permissionDenied`, `readOnly`,
    ///   `invalidInput` or `inputOutput`; `nil` if nothing about the file explains the failure.
    package static func error(at path: FilePath) -> CofferError? {
        let folder = path.removingLastComponent()
        guard FileNameBytes.of(path).count <= maxPathLength else {
            return CofferError(
                .invalidInput,
                "The path \(path) is too long, because SQLite accepts database paths of at most "
                    + "\(maxPathLength) bytes. Choose a shorter path.")
        }
        guard mayUse(folder, F_OK) else {
            return CofferError(.absent, "The directory \(folder) does not exist. Create it first.")
        }
        guard mayUse(folder, X_OK) else {
            return CofferError(.permissionDenied, "This user may not enter the directory \(folder).")
        }
        if case .vacant = SuperJournal.fileKind(at: FileNameBytes.of(path)),
            let refusal = FileBeside.refusal(path)
        {
            return refusal
        }
        guard mayUse(path, F_OK) else {
            if errno == ENAMETOOLONG {
                return CofferError(
                    .invalidInput, "The database's name is too long for its file system: \(path).")
            }
            let more = mayUse(folder, W_OK) ? "" : ", and none can be created in its directory"
            return CofferError(.absent, "There is no database at \(path)\(more).")
        }
        if case .noFile = SuperJournal.fileKind(at: FileNameBytes.of(path)) {
            return CofferError(.inputOutput, "\(path) must be a regular file.")
        }
        guard mayUse(path, R_OK) else {
            return CofferError(.permissionDenied, "This user may not read the database \(path).")
        }
        guard mayUse(folder, W_OK) else { return readOnlyFolder }
        return unusableCompanion(of: path)
    }

    /// Returns the error for a journal, WAL or shared memory beside the database that this user may not read
    /// and write, or that is not a regular file. Without that file, SQLite cannot tell which data is
    /// committed.
    private static func unusableCompanion(of path: FilePath) -> CofferError? {
        for suffix in ["-journal", "-wal", "-shm"] {
            guard let file = FileNameBytes.path(FileNameBytes.of(path) + suffix.utf8), mayUse(file, F_OK)
            else { continue }
            if case .noFile = SuperJournal.fileKind(at: FileNameBytes.of(file)) {
                return CofferError(.inputOutput, "\(file) must be a regular file.")
            }
            guard mayUse(file, R_OK | W_OK) else {
                return CofferError(
                    .permissionDenied,
                    "This user may not read and write \(file), which is part of the database \(path). "
                        + "Correct the file's permissions; do not remove the file, which can contain "
                        + "committed data.")
            }
        }
        return nil
    }

    /// Checks that a database exists at a path, for callers that would otherwise create one by opening it. A
    /// symbolic link whose target is missing does not count as a database, nor does an empty file without a
    /// nonempty journal or WAL beside it.
    ///
    /// - Parameter path: The database's absolute path.
    /// - Throws: `absent` if there is no database at the path; also the errors that ``error(at:)`` returns.
    package static func requireDatabase(at path: FilePath) throws(CofferError) {
        let bytes = FileNameBytes.of(path)
        guard case .vacant = SuperJournal.fileKind(at: bytes) else { return }
        guard mayUse(path, F_OK) else {
            throw error(at: path) ?? CofferError(.absent, "There is no database at \(path).")
        }
        for suffix in ["-journal", "-wal"] {
            guard case .vacant = SuperJournal.fileKind(at: bytes + suffix.utf8) else { return }
        }
        throw empty(path)
    }

    /// Returns the error for an empty file.
    static func empty(_ path: FilePath) -> CofferError {
        CofferError(.absent, "There is no database at \(path): the file is empty.")
    }

    /// The error for a directory in which SQLite cannot create files. SQLite creates files beside a database
    /// to write to it, and in WAL mode even to read it.
    static let readOnlyFolder = CofferError(
        .readOnly,
        "SQLite needs files beside the database, but the directory is not writable. Copy the database, "
            + "together with its -wal file if there is one, to a directory that you can write to.")

    /// The maximum length of a database's path in bytes: SQLite's own limit on Unix, minus the longest suffix
    /// that SQLite appends to the path.
    static let maxPathLength = 512 - 8

    private static func mayUse(_ path: FilePath, _ mode: Int32) -> Bool {
        unsafe path.withPlatformString { unsafe access($0, mode) } == 0
    }
}
