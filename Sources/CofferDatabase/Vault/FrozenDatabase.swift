package import Coffer
package import CofferBase
package import CofferEngine
import CofferEngineSQLite

/// A copy of a database as it was at one moment, which is read as a plain SQLite database.
///
/// The copy itself is encrypted under a key that exists only in memory, in a private directory within the
/// vault, which is removed with this value. SQLite builds it with `VACUUM INTO`.
package final class FrozenDatabase {
    private let file: PrivateDatabaseFile
    private let pages: DatabasePages
    /// The size of the plain database in bytes.
    package let size: Int64

    init(_ file: consuming PrivateDatabaseFile, _ handle: DatabaseKeyHandle) throws(CofferError) {
        let pages = try DatabasePages.open(file.path, handle)
        self.file = file
        self.pages = pages
        size = pages.count * Int64(pages.pageSize)
    }

    /// Passes all bytes to `body`, page by page. Can be called once.
    ///
    /// - Throws: `corrupt` if a page is damaged; the error of `body`.
    package func read(_ body: (Span<UInt8>) throws(CofferError) -> Void) throws(CofferError) {
        let buffer = try AlignedBuffer.make(count: pages.pageSize)
        for _ in 0..<pages.count {
            try buffer.write(0..<buffer.count) { (page) throws(CofferError) in
                try pages.readNext(into: &page)
            }
            try buffer.read(0..<buffer.count, body)
        }
    }
}

/// A copy of a database as it was at one moment, encrypted under the database's own key, in a private
/// directory within the vault, which is removed with this value.
package final class SealedDatabaseCopy {
    private let holder: PrivateDatabaseFile
    /// The copy.
    package let file: Descriptor
    /// The copy's size in bytes.
    package let size: Int64
    /// The stored key that opens the copy.
    package let key: SealedToken

    init(_ holder: consuming PrivateDatabaseFile, _ key: SealedToken) throws(CofferError) {
        self.key = key
        let file = try holder.open()
        size = try file.status().size
        self.file = file
        self.holder = holder
    }
}
