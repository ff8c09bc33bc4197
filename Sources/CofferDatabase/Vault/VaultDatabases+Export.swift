import Coffer
public import CofferBase
import CofferEngine
import CofferEngineSQLite
public import FoundationEssentials
public import SystemPackage

extension VaultDatabases {
    /// Writes a database to a new file outside the vault **in plaintext**: anyone who can read the file can
    /// read all its data. Programs may use the database meanwhile; the file contains what is committed when
    /// the copy begins.
    ///
    /// The file has mode 0600 and appears only when it is complete. If the process is killed, what it has
    /// written stays unencrypted in a directory `.coffer-unfinished-…` beside the target, which only this
    /// user can read, until the next export into the same directory.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The path of the new file.
    /// - Throws: `absent` if there is no database of this name, or if it is empty; `alreadyExists` if the
    ///   target exists; `refused` if the administrator's policy does not allow exports, or if the target is
    ///   in the vault's directory; `locked` or `wiped`, also if the vault is locked or wiped meanwhile;
    ///   `noSpace`; `corrupt` if the database is damaged.
    public func exportPlain(
        _ name: String = "default", to target: FilePath
    ) async throws(CofferError) {
        try await export(name, to: target, nil)
    }

    /// Writes a database to a new file outside the vault, encrypted under a key of its own.
    ///
    /// ``EncryptedDatabase`` opens the file with that key and, in SQLCipher's format, SQLCipher does.
    /// Programs may use the database meanwhile; the file contains what is committed when the copy begins.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The path of the new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: The errors of ``exportPlain(_:to:)-(_,FilePath)``; `refused` also if the new file's format
    ///   is read-only.
    public func export(
        _ name: String = "default", to target: FilePath, newKey: consuming DatabaseKey
    ) async throws(CofferError) {
        try await export(name, to: target, NewKey(newKey))
    }

    /// The new file's key, in a form that a closure can hold.
    private final class NewKey: Sendable {
        let key: DatabaseKey

        init(_ key: consuming DatabaseKey) { self.key = key }
    }

    private func export(
        _ name: String, to target: FilePath, _ newKey: NewKey?
    ) async throws(CofferError) {
        let name = try SoupStoreName.checked(name, of: "database")
        let path = try EncryptedDatabase.absolutePath(target)
        let vault = files.session
        try await BlockingExecutor.run { _ throws(CofferError) in try vault.requireDatabaseExport(to: path) }
        let isVolatile = try await files.volatileProtection(Self.scope, name) != nil
        // Getting the access to a database that does not exist would create its key.
        let isStored = try await files.contains(Self.scope, name)
        guard isVolatile || isStored else {
            throw CofferError(.absent, "The vault has no database \(CofferError.quoted(name)).")
        }
        do {
            _ = try await files.opening(Self.scope, name, class: nil, isVolatile: isVolatile) { access in
                try Self.export(access, of: vault, to: path, newKey)
            }
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    private static func export(
        _ access: VaultDatabaseFiles.Access, of vault: Vault, to path: FilePath, _ newKey: NewKey?
    ) throws(CofferError) {
        let copy = try DatabaseCopy.open(
            access.path, access.handle, workingIn: access.path.removingLastComponent())
        let check = { () throws(CofferError) in try vault.requireStillOpen(for: access.protection) }
        if let newKey {
            try EncryptedDatabase.write(copy, to: path, newKey.key, check: check)
        } else {
            try copy.write(to: path, nil, check: check)
        }
    }
}

/// Overloads that accept paths as strings or as file URLs.
extension VaultDatabases {
    /// Writes a database in plaintext to a new file at a path string.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The path of the new file.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    public func exportPlain(
        _ name: String = "default", to target: String
    ) async throws(CofferError) {
        try await exportPlain(name, to: FilePath(text: target))
    }

    /// Writes a database in plaintext to a new file at a file URL.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The URL of the new file.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; also the errors of the
    ///   `FilePath` overload.
    public func exportPlain(_ name: String = "default", to target: URL) async throws(CofferError) {
        try await exportPlain(name, to: FilePath(fileURL: target))
    }

    /// Writes a database to a new file at a path string, encrypted under a key of its own.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The path of the new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    public func export(
        _ name: String = "default", to target: String, newKey: consuming DatabaseKey
    ) async throws(CofferError) {
        try await export(name, to: FilePath(text: target), newKey: newKey)
    }

    /// Writes a database to a new file at a file URL, encrypted under a key of its own.
    ///
    /// - Parameters:
    ///   - name: The database's name.
    ///   - target: The URL of the new file.
    ///   - newKey: The key for the new file, which also determines the file's format.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; also the errors of the
    ///   `FilePath` overload.
    public func export(
        _ name: String = "default", to target: URL, newKey: consuming DatabaseKey
    ) async throws(CofferError) {
        try await export(name, to: FilePath(fileURL: target), newKey: newKey)
    }
}
