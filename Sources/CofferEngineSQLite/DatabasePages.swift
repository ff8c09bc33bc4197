package import CofferBase
import CofferEngine
import CSQLite
package import SystemPackage

/// The decrypted pages of an encrypted database file that nothing else has open, read or written one after
/// the other, without SQLite's page cache.
///
/// The pages together are a plain SQLite database, whose pages have the reserved bytes that encryption needs,
/// as zeros.
package final class DatabasePages {
    private let connection: CopyConnection
    private let file: DatabaseFile
    private let path: FilePath
    private let page: Scratch
    /// The number of pages that were read or written.
    private var position: UInt32 = 0

    /// The size of a page in bytes.
    package var pageSize: Int { file.codec.pageSize }

    private init(_ connection: CopyConnection, _ file: DatabaseFile, _ path: FilePath) {
        self.connection = connection
        self.file = file
        self.path = path
        page = Scratch(count: file.codec.pageSize)
    }

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the file, which must exist and may be empty.
    ///   - handle: The file's key.
    /// - Returns: The open file.
    /// - Throws: The errors of opening a database.
    package static func open(
        _ path: FilePath, _ handle: DatabaseKeyHandle
    ) throws(CofferError) -> DatabasePages {
        let connection = try CopyConnection.open(path, SQLITE_OPEN_READWRITE, handle)
        guard let file = connection.mainFile else {
            throw CofferError(.internalFailure, "The database \(path) is not encrypted.")
        }
        return DatabasePages(connection, file, path)
    }

    /// The number of pages in the file.
    package var count: Int64 { (file.lower.size ?? 0) / Int64(pageSize) }

    /// Copies the next page into `buffer`, which must have the size of a page. What a copy changes in the
    /// first page without changing the content is set to fixed values: the counters of changes and of schema
    /// changes.
    ///
    /// - Throws: `corrupt` if the page is damaged.
    package func readNext(into buffer: inout MutableSpan<UInt8>) throws(CofferError) {
        guard buffer.count == pageSize else { throw Self.misused }
        let result = file.read(page.region, at: Int64(position) * Int64(pageSize))
        guard result == SQLITE_OK else { throw SQLiteFailure.error(result, "page \(position + 1)") }
        if position == 0 { setCounters() }
        page.region.withMutableSpan { buffer.write($0.span, at: 0) }
        position += 1
    }

    /// Writes the next page.
    ///
    /// - Returns: Whether the page can belong to a database of this file's geometry.
    /// - Throws: `noSpace` or another error of the file system.
    package func writeNext(_ bytes: Span<UInt8>) throws(CofferError) -> Bool {
        guard bytes.count == pageSize else { throw Self.misused }
        page.region.withMutableSpan { $0.write(bytes, at: 0) }
        if position == 0 {
            // A hostile header must not switch this database to a mode that SQLite would recover.
            page.region.copy([1, 1], at: 18)
        }
        let result = file.write(page.region, at: Int64(position) * Int64(pageSize))
        guard result != SQLITE_READONLY_GEOMETRY_CODE else { return false }
        guard result == SQLITE_OK else { throw SQLiteFailure.error(result, "page \(position + 1)") }
        position += 1
        return true
    }

    /// Returns whether the pages that were written are a sound database.
    package func isSound() throws(CofferError) -> Bool {
        do throws(CofferError) {
            return try connection.firstText("PRAGMA quick_check(1)") == "ok"
        } catch {
            switch error.code {
            case .corrupt, .notAuthentic, .foreign, .unsupportedVersion: return false
            default: throw error
            }
        }
    }

    private func setCounters() {
        for offset in [24, 40, 92] { page.region.setBigEndian32(1, at: offset) }
    }

    private static var misused: CofferError {
        CofferError(.internalFailure, "A database's page was read or written with a wrong size.")
    }
}
