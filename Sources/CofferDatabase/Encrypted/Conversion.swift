public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import SystemPackage

extension EncryptedDatabase {
    /// Writes a database to a new file in another format or under another key.
    ///
    /// - Parameters:
    ///   - source: The database to read; it may be in use.
    ///   - key: Its key.
    ///   - target: The new file.
    ///   - newKey: The new file's key, with its format.
    /// - Throws: `alreadyExists`; `absent`, also for an empty source; `refused` for a format that is to read
    ///   only; as ``queue(at:key:configuration:)``.
    public static func convert(
        _ source: FilePath, key: borrowing DatabaseKey, to target: FilePath, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        let place = try absolutePath(target)
        let copy = try open(source, key, for: place)
        try write(copy, to: place, newKey)
    }

    /// Opens a database to copy it. What a crash interrupted is taken back in it, or in a copy beside the
    /// target where the source cannot be written.
    private static func open(
        _ source: FilePath, _ key: borrowing DatabaseKey, for target: FilePath
    ) throws(CofferError) -> DatabaseCopy {
        try DatabaseCopy.open(
            absolutePath(source), key.lease(recovers: true),
            workingIn: target.removingLastComponent())
    }

    /// Writes a plain database to a new, encrypted file.
    ///
    /// - Parameters:
    ///   - source: The plain database; it stays as it is.
    ///   - target: The new file.
    ///   - key: The new file's key, with its format.
    /// - Throws: `alreadyExists`; `absent`, also for an empty source; `refused` for a format that is to read
    ///   only.
    public static func encrypt(
        _ source: FilePath, to target: FilePath, key: borrowing DatabaseKey
    ) throws(CofferError) {
        let copy = try DatabaseCopy.open(absolutePath(source), nil)
        try write(copy, to: absolutePath(target), key)
    }

    /// Writes a database to a new file **in clear**: whoever can read the file reads everything.
    ///
    /// - Parameters:
    ///   - source: The encrypted database.
    ///   - key: Its key.
    ///   - target: The new file.
    /// - Throws: `alreadyExists`; `absent`, also for an empty source; as ``queue(at:key:configuration:)``.
    public static func exportPlain(
        _ source: FilePath, key: borrowing DatabaseKey, to target: FilePath
    ) throws(CofferError) {
        let place = try absolutePath(target)
        let copy = try open(source, key, for: place)
        try copy.write(to: place, nil)
    }

    /// Encrypts a database anew under another key, in its place.
    ///
    /// A crash leaves the old database under the old key or the new one under the new key, never a mixture.
    ///
    /// - Parameters:
    ///   - path: The database; no program may have it open, this one included. A connection that goes on with
    ///     the old file fails with `conflict` at its next write.
    ///   - key: Its key.
    ///   - newKey: Its new key, which may be for another format.
    /// - Throws: `busy` when another connection reads or writes it, or has it open with a WAL; one that is
    ///   idle without a WAL holds no lock and is not noticed. As ``convert(_:key:to:newKey:)``.
    public static func rekey(
        at path: FilePath, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        let place = try absolutePath(path)
        guard let name = place.lastComponent else {
            throw CofferError(.invalidInput, "\(path) names no file.")
        }
        let folder = try Descriptor.open(place.removingLastComponent(), [.read, .directory])
        let unfinished = try suffixed(name)
        let copy = try DatabaseCopy.open(place, key.lease())
        try copy.acquireExclusiveLock()
        // What a crash left is under a key that nobody kept. Anything else of that name is somebody's.
        if let status = try folder.status(of: unfinished) {
            guard status.kind == .regular else {
                throw CofferError(
                    .alreadyExists,
                    "\(unfinished) is in the way of the new database: move it, then try again.")
            }
            try folder.remove(unfinished)
        }
        try write(copy, to: place.removingLastComponent().pushing(unfinished), newKey)
        try folder.rename(unfinished, to: FilePath(root: nil, [name]))
        try folder.sync()
    }

    /// What the name of a database that is being encrypted anew ends in.
    static let unfinishedSuffix = "-rekey"

    /// The name of the file that takes the place of `name` when it is complete.
    private static func suffixed(_ name: FilePath.Component) throws(CofferError) -> FilePath {
        guard let path = FileNameBytes.path(FileNameBytes.of(name) + Array(unfinishedSuffix.utf8)) else {
            throw CofferError(.invalidInput, "The name of the database cannot be extended.")
        }
        return path
    }

    private static func write(
        _ copy: borrowing DatabaseCopy, to path: FilePath, _ key: borrowing DatabaseKey
    ) throws(CofferError) {
        guard !key.format.codec.isReadOnly else {
            throw CofferError(.refused, "The format \(key.format.rawValue) is to read only.")
        }
        let least = key.format.codec.reserve
        guard key.format == .gcm1 || copy.reserve <= least else {
            throw CofferError(
                .refused,
                "The database keeps \(copy.reserve) bytes of each page; its new format has \(least).")
        }
        try copy.write(to: path, key.lease(reserve: max(copy.reserve, least)))
    }
}
