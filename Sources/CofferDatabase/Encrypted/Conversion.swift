public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import SystemPackage

extension EncryptedDatabase {
    /// Writes a database to a new file in another format or under another key.
    ///
    /// - Parameters:
    ///   - source: The path of the database to read, which may be in use.
    ///   - key: The source database's key.
    ///   - target: The path of the new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: `alreadyExists` if the target exists; `absent` if the source does not exist or is empty;
    ///   `refused` if the new file's format is read-only; also the errors of
    ///   ``queue(at:key:configuration:)-(FilePath,_,_)``.
    public static func convert(
        _ source: FilePath, key: borrowing DatabaseKey, to target: FilePath, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        let targetPath = try absolutePath(target)
        let copy = try open(source, key, for: targetPath)
        try write(copy, to: targetPath, newKey)
    }

    /// Opens a database for copying. If a crash interrupted a transaction, the transaction is rolled back in
    /// the database itself or, if the source is not writable, in a copy beside the target.
    private static func open(
        _ source: FilePath, _ key: borrowing DatabaseKey, for target: FilePath
    ) throws(CofferError) -> DatabaseCopy {
        try DatabaseCopy.open(
            absolutePath(source), key.handle(recovers: true),
            workingIn: target.removingLastComponent())
    }

    /// Writes an unencrypted database to a new, encrypted file.
    ///
    /// - Parameters:
    ///   - source: The path of the unencrypted database, which is not changed.
    ///   - target: The path of the new file.
    ///   - key: The key for the new file, which also determines the file's format.
    /// - Throws: `alreadyExists` if the target exists; `absent` if the source does not exist or is empty;
    ///   `refused` if the new file's format is read-only or cannot reserve as many bytes in each page as the
    ///   source does.
    public static func encrypt(
        _ source: FilePath, to target: FilePath, key: borrowing DatabaseKey
    ) throws(CofferError) {
        let copy = try DatabaseCopy.open(absolutePath(source), nil)
        try write(copy, to: absolutePath(target), key)
    }

    /// Writes a database to a new file **in plaintext**: anyone who can read the file can read all its data.
    ///
    /// - Parameters:
    ///   - source: The path of the encrypted database.
    ///   - key: The source database's key.
    ///   - target: The path of the new file.
    /// - Throws: `alreadyExists` if the target exists; `absent` if the source does not exist or is empty;
    ///   also the errors of ``queue(at:key:configuration:)-(FilePath,_,_)``.
    public static func exportPlain(
        _ source: FilePath, key: borrowing DatabaseKey, to target: FilePath
    ) throws(CofferError) {
        let targetPath = try absolutePath(target)
        let copy = try open(source, key, for: targetPath)
        try copy.write(to: targetPath, nil)
    }

    /// Re-encrypts a database in place under another key.
    ///
    /// A crash leaves either the old database under the old key or the new database under the new key, never
    /// a mixture of the two.
    ///
    /// - Parameters:
    ///   - path: The path of the database, which no program, including this one, may have open. A connection
    ///     that continues to use the old file fails with `conflict` at its next write.
    ///   - key: The database's current key.
    ///   - newKey: The database's new key, which may be for another format.
    /// - Throws: `busy` if another connection is reading or writing the database or has it open in WAL mode;
    ///   `conflict` if another process replaced the file after it was opened here; also the errors of
    ///   ``convert(_:key:to:newKey:)-(FilePath,_,_,_)``. An idle connection in another mode holds no lock and
    ///   is not detected.
    public static func rekey(
        at path: FilePath, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        let databasePath = try absolutePath(path)
        guard let name = databasePath.lastComponent else {
            throw CofferError(.invalidInput, "The path \(path) does not contain a file name.")
        }
        let folder = try Descriptor.open(databasePath.removingLastComponent(), [.read, .directory])
        let unfinished = try suffixed(name)
        let copy = try DatabaseCopy.open(databasePath, key.handle())
        try copy.acquireExclusiveLock()
        // A regular file of that name was left by a crash and is encrypted under a key that was never stored.
        // Anything else of that name belongs to the user.
        if let status = try folder.status(of: unfinished) {
            guard status.kind == .regular else {
                throw CofferError(
                    .alreadyExists,
                    "\(unfinished) already exists, but the new database needs that name. Move or rename "
                        + "the existing file, then try again.")
            }
            try folder.remove(unfinished)
        }
        try write(copy, to: databasePath.removingLastComponent().pushing(unfinished), newKey)
        try folder.rename(unfinished, to: FilePath(root: nil, [name]))
        try folder.sync()
        // Until here, no other connection may write to the old file.
        extendLifetime(copy)
    }

    /// The suffix of the new file's name while a database is being re-encrypted.
    static let unfinishedSuffix = "-rekey"

    /// Returns the name of the file that replaces `name` once it is complete.
    private static func suffixed(_ name: FilePath.Component) throws(CofferError) -> FilePath {
        guard let path = FileNameBytes.path(FileNameBytes.of(name) + Array(unfinishedSuffix.utf8)) else {
            throw CofferError(
                .invalidInput,
                "The suffix \(unfinishedSuffix) cannot be appended to the database's name. Rename "
                    + "the database.")
        }
        return path
    }

    static func write(
        _ copy: borrowing DatabaseCopy, to path: FilePath, _ key: borrowing DatabaseKey,
        check: () throws(CofferError) -> Void = {}
    ) throws(CofferError) {
        guard !key.format.codec.isReadOnly else {
            throw CofferError(
                .refused,
                "The database cannot be written in the read-only format \(key.format.rawValue). Choose "
                    + "another format.")
        }
        let least = key.format.codec.reserve
        guard key.format == .gcm1 || copy.reserve <= least else {
            throw CofferError(
                .refused,
                "The database reserves \(copy.reserve) bytes of each page, but the new format reserves "
                    + "only \(least). Choose the format gcm1.")
        }
        try copy.write(to: path, key.handle(reserve: max(copy.reserve, least)), check: check)
    }
}
