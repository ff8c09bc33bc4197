import CofferBase
import CofferEngine
import CSQLite
import SystemPackage

/// A private copy of an encrypted database and of the journal that a crash left beside it. SQLite rolls back
/// the interrupted transaction in the copy, which is removed when this value is destroyed.
///
/// Use a recovery copy for a database that cannot be written: one in a read-only format, on a read-only file
/// system, or owned by another user. The copy is encrypted like its source.
struct RecoveryCopy: ~Copyable {
    private static let file: FilePath = "database"
    private static let journal: FilePath = "database-journal"

    private let workFolder: WorkFolder

    /// The copy's path.
    var path: FilePath { workFolder.inner.path.pushing(Self.file) }

    /// Copies a database with its journal into a new directory in `folder`.
    ///
    /// - Throws: `busy` if another connection is changing the database; `corrupt` if the journal refers to a
    ///   super-journal that is not a regular file; `inputOutput` if a file cannot be read or written;
    ///   `noSpace`.
    static func make(
        of source: borrowing CopySource, in folder: FilePath
    ) throws(CofferError) -> RecoveryCopy {
        let workFolder = try WorkFolder.make(.recovery, in: Descriptor.open(folder, [.read, .directory]))
        try source.copy(
            to: workFolder.inner.open(Self.file, [.readWrite, .exclusive]),
            journal: workFolder.inner.open(Self.journal, [.readWrite, .exclusive]))
        return RecoveryCopy(workFolder: workFolder)
    }
}

/// The database file and the journal of an open database, to be copied.
struct CopySource: ~Copyable {
    private static let pieceSize = 1 << 16
    private let main: DatabaseFile

    init(_ main: DatabaseFile) { self.main = main }

    /// Copies the database and its journal while no other connection can change the database.
    ///
    /// This function reads the database through SQLite's own file, because closing another descriptor for the
    /// database would drop SQLite's locks.
    func copy(
        to output: borrowing Descriptor, journal journalOutput: borrowing Descriptor
    ) throws(CofferError) {
        guard main.lower.lock(Self.sharedLock) == 0 else { throw Self.busy }
        defer { _ = main.lower.unlock(Self.noLock) }
        var isReserved: Int32 = 0
        guard unsafe main.lower.checkReservedLock(&isReserved) == 0, isReserved == 0 else { throw Self.busy }
        try copyMain(to: output)
        guard let path = FileNameBytes.path(main.opening.path + Array("-journal".utf8)) else {
            throw CofferError(.invalidInput, "The database's path contains a NUL byte.")
        }
        try Self.copyAll(of: Descriptor.open(path, [.read, .nonBlocking]), to: journalOutput)
        try Self.settle(journalOutput)
    }

    /// Decides in the copy whether the transaction counts as committed, which depends on the super-journal,
    /// and removes the super-journal's name from the copy. If the name stayed, SQLite would delete the
    /// super-journal, which the other databases in the transaction need.
    private static func settle(_ journal: borrowing Descriptor) throws(CofferError) {
        let size = try journal.status().size
        let ending = SuperJournal.ending(size) { region, offset in
            let count = region.withMutableSpan { try? journal.read(at: offset, into: &$0) }
            return count == region.count ? SQLITE_OK : SQLITE_IOERR
        }
        switch ending {
        // SQLite rejects any other name when it opens the copy.
        case .none, .stranger: return
        case .unreadable: throw CofferError(.inputOutput, "The copy of the journal could not be read.")
        case .name(let name, let start):
            switch SuperJournal.fileKind(at: name) {
            case .file: try journal.truncate(to: start)
            case .vacant: try journal.truncate(to: 0)
            case .noFile:
                throw CofferError(
                    .corrupt,
                    "The journal does not refer to a valid super-journal. Restore a copy of the "
                        + "database.")
            case .unreadable:
                throw CofferError(
                    .inputOutput, "The super-journal to which the journal refers could not be checked.")
            }
        }
    }

    private static let sharedLock: Int32 = 1
    private static let noLock: Int32 = 0
    private static var busy: CofferError {
        CofferError(.busy, "Another connection has locked the database. Try again later.")
    }

    private func copyMain(to output: borrowing Descriptor) throws(CofferError) {
        let piece = Scratch(count: Self.pieceSize)
        guard let size = main.lower.size else {
            throw CofferError(.inputOutput, "The database's size could not be determined.")
        }
        var offset: Int64 = 0
        while offset < size {
            let part = piece.region.part(0, Int(min(Int64(Self.pieceSize), size - offset)))
            guard main.lower.read(part, at: offset) == 0 else {
                throw CofferError(.inputOutput, "The database could not be read.")
            }
            let bytes = part.span
            try output.write(bytes, at: offset)
            offset += Int64(part.count)
        }
    }

    private static func copyAll(
        of input: consuming Descriptor, to output: borrowing Descriptor
    ) throws(CofferError) {
        var piece = [UInt8](repeating: 0, count: pieceSize)
        var offset: Int64 = 0
        while true {
            var buffer = piece.mutableSpan
            let count = try input.read(at: offset, into: &buffer)
            guard count > 0 else { return }
            let bytes = piece.span.extracting(..<count)
            try output.write(bytes, at: offset)
            offset += Int64(count)
        }
    }
}
