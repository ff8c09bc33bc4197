import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite
import SystemPackage

/// The stored keys of a vault's databases. All methods block.
struct VaultDatabaseKeys {
    private static let maxAttempts = 4

    let vault: Vault

    init(_ vault: Vault) { self.vault = vault }

    /// The directory of the databases.
    var directory: FilePath { vault.vaultDirectory.pushing(DatabaseKeyNaming.directory) }

    /// Returns the path of a database's file.
    func path(_ scope: String, _ name: String) -> FilePath {
        directory.appending(DatabaseKeyNaming.file(scope, name))
    }

    /// Returns a database's key, once a replacement of it that was interrupted is done or undone; `nil` if
    /// none is stored.
    ///
    /// - Throws: `corrupt` if the replacement was interrupted and the file is now missing, or is under
    ///   neither key, in which case nothing changes; `busy`, `locked`, `noSpace`, `readOnly`.
    func key(_ scope: String, _ name: String) throws(CofferError) -> StoredDatabaseKey? {
        let id = try DatabaseKeyNaming.id(scope, name)
        for _ in 0..<Self.maxAttempts {
            guard let found = try vault.tokens.stored(id).map({ StoredDatabaseKey($0) }) else { return nil }
            guard found.isDouble else { return found }
            do throws(CofferError) {
                try vault.tokens.settleDatabaseKey(id, found.token) { () throws(CofferError) in
                    try decide(found, id, path(scope, name))
                }
            } catch {
                // Another process has settled it.
                guard error.code == .conflict else { throw error }
            }
        }
        throw CofferError(.busy, "The key to the database \(id.account) is being replaced. Try again.")
    }

    /// Returns the result of `body` for a database's key, and calls it again if the key was replaced before
    /// `body` opened the file.
    ///
    /// - Throws: `corrupt` if the key is missing; `conflict` if it is replaced again and again; the errors of
    ///   ``key(_:_:)`` and of `body`.
    func withKey<Result: ~Copyable>(
        _ scope: String, _ name: String,
        _ body: (StoredDatabaseKey) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        var used = try requiredKey(scope, name)
        for _ in 0..<Self.maxAttempts {
            do throws(CofferError) {
                return try body(used)
            } catch {
                guard let current = try successor(of: used, scope, name, after: error) else { throw error }
                used = current
            }
        }
        throw Self.isReplaced(scope, name)
    }

    static func isReplaced(_ scope: String, _ name: String) -> CofferError {
        CofferError(.conflict, "The key to the database \(scope)/\(name) was replaced meanwhile. Try again.")
    }

    /// Returns the stored key if the file was not opened under `used` because that key was replaced.
    func successor(
        of used: StoredDatabaseKey, _ scope: String, _ name: String, after error: CofferError
    ) throws(CofferError) -> StoredDatabaseKey? {
        guard [.conflict, .notAuthentic, .corrupt, .foreign].contains(error.code),
            let current = try key(scope, name), !current.hasSameKey(as: used)
        else { return nil }
        return current
    }

    private func requiredKey(_ scope: String, _ name: String) throws(CofferError) -> StoredDatabaseKey {
        guard let key = try key(scope, name) else {
            throw CofferError(
                .corrupt, "The key to the database \(scope)/\(name) is missing.", remedy: .restoreVault)
        }
        return key
    }

    /// Returns which of two keys the file is under. The caller holds the vault's lock, so that the file is
    /// not replaced meanwhile.
    ///
    /// The file's plaintext bytes tell the keys apart, but anyone can write these: only a page that opens
    /// under the key proves it, and only then may the other key go. A process that was killed may have left
    /// the renaming of the file in memory; it must be on the disk first, too.
    private func decide(
        _ key: StoredDatabaseKey, _ id: TokenID, _ path: FilePath
    ) throws(CofferError) -> DatabaseKeyValue {
        guard let (old, new) = try key.halves() else { throw Self.unclear(id) }
        do throws(CofferError) {
            let salt = try DatabaseIdentity.read(path, old.handle).flatMap {
                DatabaseKeyHandle.salt(ofIdentity: $0)
            }
            guard let half = [old, new].first(where: { $0.salt == salt }) else { throw Self.unclear(id) }
            _ = try DatabaseCopy.open(path, half.handle, workingIn: directory)
            try Descriptor.open(directory, [.read, .directory]).sync()
            return half.value
        } catch {
            switch error.code {
            case .absent, .notAuthentic, .foreign, .corrupt, .unsupportedVersion: throw Self.unclear(id)
            default: throw error
            }
        }
    }

    private static func unclear(_ id: TokenID) -> CofferError {
        CofferError(
            .corrupt,
            "The replacement of the key to the database \(id.account) was interrupted, and its file is now "
                + "missing, damaged, or another one. Restore a copy of the file, or remove the database.")
    }

    // MARK: Replacing

    /// Gives a database a new key and a new file under it, which has the same content.
    ///
    /// - Parameters:
    ///   - scope: The namespace.
    ///   - name: The name in it.
    ///   - check: A function that throws if the operation is to end.
    /// - Returns: The reason for which the database keeps its key; `nil` if it has a new one.
    /// - Throws: `locked`, `wiped`; the errors of storing a key, after which the next opening of the database
    ///   finds out which key it has; the error of `check`.
    func replace(
        _ scope: String, _ name: String, check: () throws(CofferError) -> Void
    ) throws(CofferError) -> KeptDatabaseKeyReason? {
        var isStoring = false
        do throws(CofferError) {
            try withKey(scope, name) { (key) throws(CofferError) in
                isStoring = false
                try replace(key, scope, name, check) { isStoring = true }
            }
            return nil
        } catch {
            guard !isStoring || error.code == .conflict, let reason = KeptDatabaseKeyReason(error) else {
                throw error
            }
            return reason
        }
    }

    private func replace(
        _ old: StoredDatabaseKey, _ scope: String, _ name: String,
        _ check: () throws(CofferError) -> Void, beforeStoring: () -> Void
    ) throws(CofferError) {
        let (id, path) = (try DatabaseKeyNaming.id(scope, name), path(scope, name))
        let entry = FilePath(DatabaseKeyNaming.file(scope, name))
        try requireFile(entry)
        let source = try old.handle()
        vault.revokeOnEviction(source, with: old.info.protection)
        let copy = try DatabaseCopy.open(path, source)
        try copy.acquireExclusiveLock()
        let key = try Token(SecretBytes.random(count: StoredDatabaseKey.byteCount))
        let target = try StoredDatabaseKey.handle(
            key, reserve: max(copy.reserve, CodecFormat.gcm1.reserve))
        vault.revokeOnEviction(target, with: old.info.protection)
        let file = try PrivateDatabaseFile.make(in: directory)
        try copy.write(to: file.path, target) { () throws(CofferError) in
            try check()
            try vault.requireStillOpen(for: old.info.protection)
        }
        guard let identity = source.identity, let successor = target.identity else {
            throw CofferError(.internalFailure, "A database's first bytes are not known.")
        }
        let both = try StoredDatabaseKey.value(old.token, identity, or: key, successor)
        let new = StoredDatabaseKey.value(key, successor)
        beforeStoring()
        try vault.tokens.replaceDatabaseKey(id, old.token, through: both, to: new) { () throws(CofferError) in
            try copy.requireUnmoved()
            try file.move(to: entry, replacing: true)
        }
        // Until here, no other connection may write to the old file.
        extendLifetime(copy)
    }

    /// Throws `inputOutput` if a database's name is a link: the file to which it leads would keep the key.
    private func requireFile(_ entry: FilePath) throws(CofferError) {
        guard let found = try Descriptor.open(directory, [.read, .directory]).status(of: entry),
            found.kind != .regular
        else { return }
        throw CofferError(
            .inputOutput, "\(directory.pushing(entry)) is not a regular file. Move the file itself there.")
    }
}
