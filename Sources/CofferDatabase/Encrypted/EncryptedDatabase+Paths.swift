import Coffer
public import CofferBase
public import FoundationEssentials
public import GRDB
import SystemPackage

/// Overloads that accept paths as strings or as file URLs.
extension EncryptedDatabase {
    /// Opens the database at a path string for one connection, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The path of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB queue.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    public static func queue(
        at path: String, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: FilePath(text: path), key: key, configuration: configuration)
    }

    /// Opens the database at a file URL for one connection, creating it if necessary.
    ///
    /// - Parameters:
    ///   - url: The URL of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB queue.
    /// - Throws: `invalidInput` if a URL is not a file URL on this machine; also the errors of the `FilePath`
    ///   overload.
    public static func queue(
        at url: URL, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: FilePath(fileURL: url), key: key, configuration: configuration)
    }

    /// Opens the database at a path string in WAL mode, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The path of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB pool.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    public static func pool(
        at path: String, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: FilePath(text: path), key: key, configuration: configuration)
    }

    /// Opens the database at a file URL in WAL mode, creating it if necessary.
    ///
    /// - Parameters:
    ///   - url: The URL of the database's file.
    ///   - key: The database's key.
    ///   - configuration: The GRDB configuration.
    /// - Returns: A GRDB pool.
    /// - Throws: `invalidInput` if a URL is not a file URL on this machine; also the errors of the `FilePath`
    ///   overload.
    public static func pool(
        at url: URL, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: FilePath(fileURL: url), key: key, configuration: configuration)
    }

    /// Writes a database to a new file in another format or under another key, with the paths given as
    /// strings.
    ///
    /// - Parameters:
    ///   - source: The database to read, which may be in use.
    ///   - key: The source database's key.
    ///   - target: The new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if a path contains a NUL; also the errors of the `FilePath` overload.
    public static func convert(
        _ source: String, key: borrowing DatabaseKey, to target: String, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try convert(FilePath(text: source), key: key, to: FilePath(text: target), newKey: newKey)
    }

    /// Writes a database to a new file in another format or under another key, with the paths given as file
    /// URLs.
    ///
    /// - Parameters:
    ///   - source: The database to read, which may be in use.
    ///   - key: The source database's key.
    ///   - target: The new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if a URL is not a file URL on this machine; also the errors of the `FilePath`
    ///   overload.
    public static func convert(
        _ source: URL, key: borrowing DatabaseKey, to target: URL, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try convert(FilePath(fileURL: source), key: key, to: FilePath(fileURL: target), newKey: newKey)
    }

    /// Writes an unencrypted database to a new, encrypted file, with the paths given as strings.
    ///
    /// - Parameters:
    ///   - source: The unencrypted database, which is not changed.
    ///   - target: The new file.
    ///   - key: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if a path contains a NUL; also the errors of the `FilePath` overload.
    public static func encrypt(
        _ source: String, to target: String, key: borrowing DatabaseKey
    ) throws(CofferError) {
        try encrypt(FilePath(text: source), to: FilePath(text: target), key: key)
    }

    /// Writes an unencrypted database to a new, encrypted file, with the paths given as file URLs.
    ///
    /// - Parameters:
    ///   - source: The unencrypted database, which is not changed.
    ///   - target: The new file.
    ///   - key: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if a URL is not a file URL on this machine; also the errors of the `FilePath`
    ///   overload.
    public static func encrypt(
        _ source: URL, to target: URL, key: borrowing DatabaseKey
    ) throws(CofferError) {
        try encrypt(FilePath(fileURL: source), to: FilePath(fileURL: target), key: key)
    }

    /// Writes a database to a new file **in plaintext**, with the paths given as strings.
    ///
    /// - Parameters:
    ///   - source: The encrypted database.
    ///   - key: The source database's key.
    ///   - target: The new file.
    /// - Throws: `invalidInput` if a path contains a NUL; also the errors of the `FilePath` overload.
    public static func exportPlain(
        _ source: String, key: borrowing DatabaseKey, to target: String
    ) throws(CofferError) {
        try exportPlain(FilePath(text: source), key: key, to: FilePath(text: target))
    }

    /// Writes a database to a new file **in plaintext**, with the paths given as file URLs.
    ///
    /// - Parameters:
    ///   - source: The encrypted database.
    ///   - key: The source database's key.
    ///   - target: The new file.
    /// - Throws: `invalidInput` if a URL is not a file URL on this machine; also the errors of the `FilePath`
    ///   overload.
    public static func exportPlain(
        _ source: URL, key: borrowing DatabaseKey, to target: URL
    ) throws(CofferError) {
        try exportPlain(FilePath(fileURL: source), key: key, to: FilePath(fileURL: target))
    }

    /// Re-encrypts the database at a path string in place under another key.
    ///
    /// - Parameters:
    ///   - path: The path of the database, which no program, including this one, may have open.
    ///   - key: The database's current key.
    ///   - newKey: The database's new key, which may be for another format.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    public static func rekey(
        at path: String, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try rekey(at: FilePath(text: path), from: key, to: newKey)
    }

    /// Re-encrypts the database at a file URL in place under another key.
    ///
    /// - Parameters:
    ///   - url: The URL of the database, which no program, including this one, may have open.
    ///   - key: The database's current key.
    ///   - newKey: The database's new key, which may be for another format.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; also the errors of the
    ///   `FilePath` overload.
    public static func rekey(
        at url: URL, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try rekey(at: FilePath(fileURL: url), from: key, to: newKey)
    }
}
