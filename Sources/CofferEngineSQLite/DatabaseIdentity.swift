package import CofferBase
import CofferEngine
import CSQLite
package import SystemPackage

/// A namespace for functions that tell which database a file is.
package enum DatabaseIdentity {
    /// Returns the plaintext bytes that a database's file begins with; `nil` if it has no first page.
    ///
    /// Anyone can write these bytes, so only a page that opens proves a key. SQLite opens the file, because
    /// closing another descriptor would drop the locks that this process has on it.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the file, which must exist.
    ///   - handle: A key that the file may be under; nothing is read with it.
    /// - Returns: The bytes.
    /// - Throws: The errors of opening a database.
    package static func read(
        _ path: FilePath, _ handle: DatabaseKeyHandle
    ) throws(CofferError) -> [UInt8]? {
        let connection = try CopyConnection.open(path, SQLITE_OPEN_READWRITE, handle)
        return withExtendedLifetime(connection) {
            connection.mainFile.flatMap { DatabaseFile.clearBytes($0.lower) }
        }
    }
}
