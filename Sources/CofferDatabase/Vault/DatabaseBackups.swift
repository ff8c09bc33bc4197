package import Coffer
package import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite
import FoundationEssentials
import SystemPackage

/// The access of backups to the databases in a vault, without opening them for a program. All methods block.
package struct DatabaseBackups: Sendable {
    /// A function that fills the span with the next bytes of a content and returns their number, which is
    /// smaller than the span's size only at the end.
    package typealias Content = (inout MutableSpan<UInt8>) throws(CofferError) -> Int

    private static let pageSize = CodecFormat.gcm1.pageSize

    private let vault: Vault

    package init(_ vault: Vault) { self.vault = vault }

    private var keys: VaultDatabaseKeys { VaultDatabaseKeys(vault) }

    private var directory: FilePath { keys.directory }

    private func path(_ scope: String, _ name: String) -> FilePath { keys.path(scope, name) }

    /// Returns whether the database's file exists.
    package func contains(_ scope: String, _ name: String) throws(CofferError) -> Bool {
        do throws(CofferError) {
            let folder = try Descriptor.open(directory, [.read, .directory])
            return try folder.status(of: FilePath(DatabaseKeyNaming.file(scope, name))) != nil
        } catch {
            guard error.code == .absent else { throw error }
            return false
        }
    }

    /// Returns the keyed name of the database's key.
    package func keyName(_ scope: String, _ name: String) throws(CofferError) -> [UInt8] {
        try vault.tokens.keyedName(of: DatabaseKeyNaming.id(scope, name))
    }

    // MARK: Reading

    /// Copies a database as it is at one moment, while programs go on using it.
    ///
    /// - Throws: `absent` if the database has no pages yet; `corrupt` if its key is missing or it is damaged;
    ///   `locked`, `noSpace`, and the errors of opening a database.
    package func snapshot(_ scope: String, _ name: String) throws(CofferError) -> FrozenDatabase {
        let copy = try keys.withKey(scope, name) { (key) throws(CofferError) in
            try DatabaseCopy.open(path(scope, name), key.handle(), workingIn: directory)
        }
        let file = try PrivateDatabaseFile.make(in: directory)
        let handle = try DatabaseKey.random().handle(
            reserve: max(copy.reserve, CodecFormat.gcm1.reserve))
        try copy.write(to: file.path, handle)
        return try FrozenDatabase(file, handle)
    }

    /// Copies a database as it is at one moment, encrypted under its own key, which comes with the copy.
    ///
    /// - Throws: The errors of ``snapshot(_:_:)``.
    package func sealedCopy(_ scope: String, _ name: String) throws(CofferError) -> SealedDatabaseCopy {
        let id = try DatabaseKeyNaming.id(scope, name)
        return try keys.withKey(scope, name) { (key) throws(CofferError) -> SealedDatabaseCopy in
            let copy = try DatabaseCopy.open(path(scope, name), key.handle(), workingIn: directory)
            let file = try PrivateDatabaseFile.make(in: directory)
            try copy.write(
                to: file.path, key.handle(reserve: max(copy.reserve, CodecFormat.gcm1.reserve)))
            // Another process may have replaced the key since, with the file.
            guard let sealed = try vault.tokens.sealed(id),
                try vault.tokens.open(sealed).token.hasSameBytes(as: key.token)
            else { throw VaultDatabaseKeys.isReplaced(scope, name) }
            return try SealedDatabaseCopy(file, sealed)
        }
    }

    // MARK: Restoring

    /// Writes a plain database of a backup into the vault, encrypted from the first byte on.
    ///
    /// - Parameters:
    ///   - scope: The namespace.
    ///   - name: The name in it.
    ///   - protection: The class of a database that is new in the vault; another one keeps its class.
    ///   - replacing: Whether an existing database is replaced, which no program may have open.
    ///   - content: The plain database.
    /// - Returns: Whether the content was a sound database as Coffer writes it; otherwise nothing changed.
    /// - Throws: `alreadyExists`; `busy` if a program uses the database that would be replaced; `locked`,
    ///   `conflict` if another process replaces the database or its key meanwhile; `refused`, `noSpace`,
    ///   `readOnly`.
    package func restore(
        _ scope: String, _ name: String, class protection: ProtectionClass, replacing: Bool,
        _ content: Content
    ) throws(CofferError) -> Bool {
        try makeDirectory()
        let isThere = try contains(scope, name)
        guard replacing == isThere else { throw Self.isThere(scope, name) }
        let known = try keys.key(scope, name)
        guard isThere || known?.salt == nil else { throw Self.lost(scope, name) }
        let key: StoredDatabaseKey
        if let known, isThere {
            key = known
        } else {
            let secret = try Token(SecretBytes.random(count: StoredDatabaseKey.byteCount))
            let info = TokenInfo(
                id: try DatabaseKeyNaming.id(scope, name), version: known?.info.version,
                protection: known?.info.protection ?? protection, stored: .distantPast)
            key = StoredDatabaseKey(StoredToken(token: secret, info: info))
        }
        let file = try PrivateDatabaseFile.make(in: directory)
        try file.create()
        guard let handle = try write(content, to: file, key) else { return false }
        try file.sync()
        let entry = FilePath(DatabaseKeyNaming.file(scope, name))
        guard !isThere else {
            try withExtendedLifetime(handle) { () throws(CofferError) in
                try replace(scope, name, key, with: file)
            }
            return true
        }
        try put(key, attributes: [:], known.map { .version($0.info.version ?? 0) } ?? .absent)
        try file.move(to: entry, replacing: false)
        // If this is interrupted, the next opening records the salt.
        if let identity = handle.identity, let stored = try keys.key(scope, name) {
            try put(
                StoredDatabaseKey(StoredToken(token: key.token, info: stored.info)),
                attributes: [StoredDatabaseKey.identityAttribute: HexText.encode(identity)],
                .version(stored.info.version ?? 0))
        }
        return true
    }

    /// Replaces a database by a file under the same key.
    private func replace(
        _ scope: String, _ name: String, _ key: StoredDatabaseKey,
        with file: borrowing PrivateDatabaseFile
    ) throws(CofferError) {
        do throws(CofferError) {
            let old = try DatabaseCopy.open(path(scope, name), key.handle())
            // While this lock is held, nobody replaces the key.
            try old.acquireExclusiveLock()
            try file.move(to: FilePath(DatabaseKeyNaming.file(scope, name)), replacing: true)
            extendLifetime(old)
        } catch {
            guard try keys.successor(of: key, scope, name, after: error) == nil else {
                throw VaultDatabaseKeys.isReplaced(scope, name)
            }
            throw error
        }
    }

    /// Puts the sealed copy of a database of this vault back, if the vault has no database of that name.
    ///
    /// - Parameters:
    ///   - scope: The namespace.
    ///   - name: The name in it.
    ///   - sealedKey: The sealed key of the database.
    ///   - content: The database as it is encrypted under that key.
    /// - Returns: Whether the vault's keys open the copy; otherwise nothing changed.
    /// - Throws: `alreadyExists`, `locked`, `noSpace`, `readOnly`.
    package func restoreSealed(
        _ scope: String, _ name: String, sealedKey: SealedToken, _ content: Content
    ) throws(CofferError) -> Bool {
        guard let opened = try vault.tokens.openRestored(sealedKey),
            try opened.info.id == DatabaseKeyNaming.id(scope, name),
            opened.token.count == StoredDatabaseKey.byteCount
        else { return false }
        guard try !contains(scope, name) else { throw Self.isThere(scope, name) }
        try makeDirectory()
        let file = try PrivateDatabaseFile.make(in: directory)
        try file.create()
        let target = try file.openForWriting()
        let buffer = try AlignedBuffer.make(count: 1 << 20)
        var count = buffer.count
        while count == buffer.count {
            count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in try content(&span) }
            try buffer.read(0..<count) { (bytes) throws(CofferError) in try target.append(bytes) }
        }
        let handle = try StoredDatabaseKey(opened).handle()
        guard try Self.isSound(file.path, handle) else { return false }
        try file.sync()
        let outcome = try vault.tokens.restore([sealedKey], .keep, isTrial: false)
        // A key that was replaced since the backup stays, in case its file comes back.
        guard outcome == [.added] || outcome == [.equal] else { throw Self.lost(scope, name) }
        try file.move(to: FilePath(DatabaseKeyNaming.file(scope, name)), replacing: false)
        return true
    }

    private static func isSound(
        _ path: FilePath, _ handle: DatabaseKeyHandle
    ) throws(CofferError) -> Bool {
        do throws(CofferError) {
            return try DatabasePages.open(path, handle).isSound()
        } catch {
            guard error.code == .corrupt || error.code == .notAuthentic || error.code == .foreign else {
                throw error
            }
            return false
        }
    }

    /// Encrypts a plain database into an empty file. Returns the registered key, or `nil` if the content is
    /// no sound database of this geometry.
    private func write(
        _ content: Content, to file: borrowing PrivateDatabaseFile, _ key: StoredDatabaseKey
    ) throws(CofferError) -> DatabaseKeyHandle? {
        let buffer = try AlignedBuffer.make(count: Self.pageSize)
        var count = try buffer.write(0..<Self.pageSize) { (page) throws(CofferError) in try content(&page) }
        // The number of reserved bytes, in the database's header.
        let reserve = buffer.read(20..<21) { Int($0[0]) }
        guard count == Self.pageSize, reserve >= CodecFormat.gcm1.reserve else { return nil }
        let handle = try key.handle(reserve: reserve)
        let pages = try DatabasePages.open(file.path, handle)
        while count == Self.pageSize {
            let fits = try buffer.read(0..<Self.pageSize) { (page) throws(CofferError) in
                try pages.writeNext(page)
            }
            guard fits else { return nil }
            count = try buffer.write(0..<Self.pageSize) { (page) throws(CofferError) in try content(&page) }
        }
        guard count == 0, try pages.isSound() else { return nil }
        return handle
    }

    private func put(
        _ key: StoredDatabaseKey, attributes: [String: String], _ precondition: Precondition
    ) throws(CofferError) {
        try vault.tokens.putDatabaseKey(
            key.token, for: key.info.id, class: key.info.protection, attributes: attributes,
            precondition: precondition)
    }

    private func makeDirectory() throws(CofferError) {
        do throws(CofferError) {
            try Descriptor.open(vault.vaultDirectory, [.read, .directory]).makeDirectory(
                DatabaseKeyNaming.directory)
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
    }

    private static func isThere(_ scope: String, _ name: String) -> CofferError {
        CofferError(.alreadyExists, "The database \(scope)/\(name) was created or removed meanwhile.")
    }

    private static func lost(_ scope: String, _ name: String) -> CofferError {
        CofferError(
            .corrupt,
            "The database \(scope)/\(name) has a key but no file. Remove the database, then restore it.")
    }
}
