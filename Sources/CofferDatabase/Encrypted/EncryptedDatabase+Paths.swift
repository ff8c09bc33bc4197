import Coffer
public import CofferBase
public import FoundationEssentials
public import GRDB
import SystemPackage

/// Overloads that take paths as text or as file URLs.
extension EncryptedDatabase {
    /// Opens a database at a path, given as text, for one connection, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's queue.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func queue(
        at path: String, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: FilePath(text: path), key: key, configuration: configuration)
    }

    /// Opens a database at a file URL for one connection, creating it if necessary.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's queue.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func queue(
        at url: URL, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        try queue(at: FilePath(fileURL: url), key: key, configuration: configuration)
    }

    /// Opens a database at a path, given as text, in WAL mode, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's pool.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func pool(
        at path: String, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: FilePath(text: path), key: key, configuration: configuration)
    }

    /// Opens a database at a file URL in WAL mode, creating it if necessary.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - key: Its key.
    ///   - configuration: GRDB's configuration.
    /// - Returns: GRDB's pool.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func pool(
        at url: URL, key: borrowing DatabaseKey, configuration: Configuration = Configuration()
    ) throws -> DatabasePool {
        try pool(at: FilePath(fileURL: url), key: key, configuration: configuration)
    }

    /// Writes a database to a new file in another format or under another key; takes the paths as text.
    ///
    /// - Parameters:
    ///   - source: The database to read; it may be in use.
    ///   - key: Its key.
    ///   - target: The new file.
    ///   - newKey: The new file's key, with its format.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func convert(
        _ source: String, key: borrowing DatabaseKey, to target: String, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try convert(FilePath(text: source), key: key, to: FilePath(text: target), newKey: newKey)
    }

    /// Writes a database to a new file in another format or under another key; takes the paths as file URLs.
    ///
    /// - Parameters:
    ///   - source: The database to read; it may be in use.
    ///   - key: Its key.
    ///   - target: The new file.
    ///   - newKey: The new file's key, with its format.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func convert(
        _ source: URL, key: borrowing DatabaseKey, to target: URL, newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try convert(FilePath(fileURL: source), key: key, to: FilePath(fileURL: target), newKey: newKey)
    }

    /// Writes a plain database to a new, encrypted file; takes the paths as text.
    ///
    /// - Parameters:
    ///   - source: The plain database; it is not changed.
    ///   - target: The new file.
    ///   - key: The new file's key, with its format.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func encrypt(
        _ source: String, to target: String, key: borrowing DatabaseKey
    ) throws(CofferError) {
        try encrypt(FilePath(text: source), to: FilePath(text: target), key: key)
    }

    /// Writes a plain database to a new, encrypted file; takes the paths as file URLs.
    ///
    /// - Parameters:
    ///   - source: The plain database; it is not changed.
    ///   - target: The new file.
    ///   - key: The new file's key, with its format.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func encrypt(
        _ source: URL, to target: URL, key: borrowing DatabaseKey
    ) throws(CofferError) {
        try encrypt(FilePath(fileURL: source), to: FilePath(fileURL: target), key: key)
    }

    /// Writes a database to a new file **in plaintext**; takes the paths as text.
    ///
    /// - Parameters:
    ///   - source: The encrypted database.
    ///   - key: Its key.
    ///   - target: The new file.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func exportPlain(
        _ source: String, key: borrowing DatabaseKey, to target: String
    ) throws(CofferError) {
        try exportPlain(FilePath(text: source), key: key, to: FilePath(text: target))
    }

    /// Writes a database to a new file **in plaintext**; takes the paths as file URLs.
    ///
    /// - Parameters:
    ///   - source: The encrypted database.
    ///   - key: Its key.
    ///   - target: The new file.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func exportPlain(
        _ source: URL, key: borrowing DatabaseKey, to target: URL
    ) throws(CofferError) {
        try exportPlain(FilePath(fileURL: source), key: key, to: FilePath(fileURL: target))
    }

    /// Re-encrypts the database at a path, given as text, in place under another key.
    ///
    /// - Parameters:
    ///   - path: The database; no program, including this one, may have it open.
    ///   - key: Its key.
    ///   - newKey: Its new key, which may be for another format.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    public static func rekey(
        at path: String, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try rekey(at: FilePath(text: path), from: key, to: newKey)
    }

    /// Re-encrypts the database at a file URL in place under another key.
    ///
    /// - Parameters:
    ///   - url: The database; no program, including this one, may have it open.
    ///   - key: Its key.
    ///   - newKey: Its new key, which may be for another format.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    public static func rekey(
        at url: URL, from key: borrowing DatabaseKey, to newKey: borrowing DatabaseKey
    ) throws(CofferError) {
        try rekey(at: FilePath(fileURL: url), from: key, to: newKey)
    }
}
