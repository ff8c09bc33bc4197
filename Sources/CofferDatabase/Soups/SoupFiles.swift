public import Coffer
public import CofferBase
import GRDB
public import SystemPackage

/// A collection of large files that are attached to a soup's entries and sealed in the file store.
///
/// A file is attached to an entry under a name and is released when the entry is removed in any way: by id or
/// by query, by clearing the soup, by a retention policy, or with its soup. ``reclaim()`` then destroys the
/// file.
///
/// If a process ends after it seals a file and before it records the attachment, the file remains but belongs
/// to no entry.
public struct SoupFiles: Sendable {
    private let store: SoupStore
    private let files: FileStore

    /// Creates a collection of the files that are attached to entries in `store` and sealed in `files`.
    public init(store: SoupStore, files: FileStore) {
        self.store = store
        self.files = files
    }

    /// Seals a copy of the file at `path` and attaches it to an entry, replacing an earlier file of the same
    /// name.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file, which is not removed.
    ///   - name: The attachment's name in the entry, which must not be empty or contain control characters.
    ///   - entry: The entry's id.
    ///   - soup: The name of the soup.
    ///   - protection: The class that determines when the file can be read; `nil` for the vault's default.
    /// - Returns: The id of the sealed file.
    /// - Throws: `absent` if the entry or the soup does not exist; `invalidInput` if the name is not valid;
    ///   also the errors of `FileStore.add`.
    @discardableResult
    public func attach(
        contentsOf path: FilePath, as name: String, to entry: Int64, in soup: String,
        class protection: ProtectionClass? = nil
    ) async throws(CofferError) -> FileID {
        let isBad = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard !name.isEmpty, !isBad else {
            throw CofferError(
                .invalidInput, "An attachment's name cannot be empty or contain control characters.")
        }
        _ = try await store.read { try Self.require(entry, soup, $0) }
        let file = try await files.add(contentsOf: path, class: protection)
        do throws(CofferError) {
            try await store.write { db in
                let layout = try Self.require(entry, soup, db)
                try Self.release(name, entry, layout.id, db)
                try db.execute(
                    sql: "INSERT INTO coffer_soup_files (soup, entry, name, file) VALUES (?, ?, ?, ?)",
                    arguments: [layout.id, entry, name, file.description])
            }
        } catch {
            _ = try? await files.remove(file)
            throw error
        }
        try await reclaim()
        return file
    }

    /// Returns the ids of an entry's files, keyed by the attachments' names; empty if the entry does not
    /// exist.
    ///
    /// - Throws: `absent` if the soup does not exist.
    public func attachments(of entry: Int64, in soup: String) async throws(CofferError) -> [String: FileID] {
        try await store.read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT name, file FROM coffer_soup_files WHERE soup = ? AND entry = ?",
                arguments: [try SoupCatalog.require(soup, db).id, entry])
            return Dictionary(
                try rows.map { row in (row[0] as String, try FileID(row[1] as String)) }
            ) { $1 }
        }
    }

    /// Passes the bytes of an attached file to `body`, in memory that is cleared afterwards.
    ///
    /// - Parameters:
    ///   - name: The attachment's name in the entry.
    ///   - entry: The entry's id.
    ///   - soup: The name of the soup.
    ///   - body: A closure that uses the bytes.
    /// - Returns: The result of `body`; `nil` when the entry has no file of this name.
    /// - Throws: `absent` if the soup does not exist; also the errors of `FileStore.withDecryptedBytes`.
    public func withBytes<Result: Sendable, Failure: Error>(
        of name: String, entry: Int64, in soup: String,
        _ body: @escaping @Sendable (Span<UInt8>) throws(Failure) -> Result
    ) async throws -> Result? {
        guard let file = try await attachments(of: entry, in: soup)[name] else { return nil }
        return try await files.withDecryptedBytes(of: file, body)
    }

    /// Detaches a file from its entry and destroys it. Returns whether the entry had a file of this name.
    ///
    /// - Throws: `absent` if the soup does not exist.
    @discardableResult
    public func detach(_ name: String, from entry: Int64, in soup: String) async throws(CofferError) -> Bool {
        let isFound = try await store.write { db in
            try Self.release(name, entry, try SoupCatalog.require(soup, db).id, db)
        }
        try await reclaim()
        return isFound
    }

    /// Destroys the files that were detached or whose entries were removed, and returns the number of files
    /// destroyed. You can call this method while the vault is locked.
    @discardableResult
    public func reclaim() async throws(CofferError) -> Int {
        let released = try await store.read { db in
            try String.fetchAll(db, sql: "SELECT file FROM coffer_released_files ORDER BY file")
        }
        for file in released {
            try await files.remove(try FileID(file))
            try await store.write { db in
                try db.execute(sql: "DELETE FROM coffer_released_files WHERE file = ?", arguments: [file])
            }
        }
        return released.count
    }

    private static func require(_ entry: Int64, _ soup: String, _ db: Database) throws -> SoupLayout {
        let layout = try SoupCatalog.require(soup, db)
        guard try EntryWriter(db, layout).created(entry) != nil else {
            throw CofferError(.absent, "The soup \(CofferError.quoted(soup)) has no entry \(entry).")
        }
        return layout
    }

    @discardableResult
    private static func release(
        _ name: String, _ entry: Int64, _ soup: Int64, _ db: Database
    ) throws -> Bool {
        let own = "WHERE soup = ? AND entry = ? AND name = ?"
        try db.execute(
            sql: "INSERT INTO coffer_released_files (file) SELECT file FROM coffer_soup_files \(own)",
            arguments: [soup, entry, name])
        try db.execute(sql: "DELETE FROM coffer_soup_files \(own)", arguments: [soup, entry, name])
        return db.changesCount > 0
    }
}
