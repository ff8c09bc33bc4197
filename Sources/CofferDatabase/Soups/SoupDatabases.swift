public import CofferBase
public import GRDB

/// A type that opens, lists and destroys the databases that hold stores.
public protocol SoupDatabases: Sendable {
    /// Opens a database, creating it if necessary.
    func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter

    /// Returns the names of the existing databases, whether they are open or not.
    func names() async throws(CofferError) -> [SoupStoreName]

    /// Destroys a closed database. Returns whether the database existed.
    func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool
}
