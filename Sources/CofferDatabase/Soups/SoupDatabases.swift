public import CofferBase
public import GRDB

/// Where the databases of stores are, and how they come into being and go.
public protocol SoupDatabases: Sendable {
    /// Opens a database, making it when there is none.
    func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter

    /// The databases that there are, open or not.
    func names() async throws(CofferError) -> [SoupStoreName]

    /// Destroys a database that is closed; gives whether there was one.
    func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool
}
