import Coffer
import CofferBase
import CofferEngine
import Synchronization

/// The session-only databases of one ``VaultDatabaseFiles``, indexed by file name. If the vault shares its
/// sessions, other processes of the user find the databases, too, and this list has the ones that are open
/// here.
///
/// Any lock ends all of them, whatever their class; the eviction of a class key ends those of its class. Both
/// happen on the thread that evicts the keys.
final class VolatileDatabases: Sendable {
    private let session: Vault
    private let databases = Mutex<[String: VolatileDatabase]>([:])

    init(_ session: Vault) {
        self.session = session
        session.onKeyEviction(while: self, isForAnyLock: true) { [weak self] lost in
            self?.end { lost.contains($0.protection) }
        }
    }

    private func find(_ file: String) -> VolatileDatabase? { databases.withLock { $0[file] } }

    /// Returns a database's class; `nil` if the session has no database with this file name.
    func protection(of file: String) throws(CofferError) -> ProtectionClass? {
        guard session.sharesSessions else { return find(file)?.protection }
        return try session.sharedDatabases().first { $0.file.hasSameBytes(as: file) }?.protection
    }

    /// Returns the file names of the databases.
    func files() throws(CofferError) -> [String] {
        guard session.sharesSessions else { return databases.withLock { Array($0.keys) } }
        return try session.sharedDatabases().map(\.file)
    }

    /// Returns a database, creating it if necessary. An existing one keeps its class.
    ///
    /// - Throws: `locked`; `wiped`; `refused` if the class needs a passcode and none is set, or if the
    ///   vault's directory of databases is not safe; `readOnly`, `permissionDenied` or `noSpace`.
    func database(_ file: String, class protection: ProtectionClass) throws(CofferError) -> VolatileDatabase {
        guard !session.sharesSessions else { return try shared(file, class: protection) }
        if let database = find(file) { return database }
        try session.requireKey(forStoring: protection)
        let vault = try Descriptor.open(session.vaultDirectory, [.read, .directory])
        VolatileDatabaseDirectory.removeEnded(in: vault)
        let fresh = try VolatileDatabase(file, class: protection, in: vault)
        let database = databases.withLock { databases in
            if let other = databases[file] { return other }
            databases[file] = fresh
            return fresh
        }
        return try checked(database, file)
    }

    /// Returns a database that this user's processes share, creating it if necessary.
    private func shared(
        _ file: String, class protection: ProtectionClass
    ) throws(CofferError) -> VolatileDatabase {
        let fresh = try VolatileDatabase(session.sharedDatabase(file, class: protection))
        // Another process may have replaced the database that this one had open.
        if let open = find(file), open.path != fresh.path { forget(file) }
        let database = databases.withLock { databases in
            if let open = databases[file] { return open }
            databases[file] = fresh
            return fresh
        }
        return try checked(database, file)
    }

    /// Returns the database, unless the vault was locked before the database was in the list.
    private func checked(
        _ database: VolatileDatabase, _ file: String
    ) throws(CofferError) -> VolatileDatabase {
        guard session.hasKey(of: database.protection) else {
            forget(file)
            throw VolatileDatabase.endedError
        }
        return database
    }

    /// Ends a database's session and removes its files. Returns whether the database existed.
    func remove(_ file: String) throws(CofferError) -> Bool {
        let isOwn = forget(file)
        guard session.sharesSessions else { return isOwn }
        return try session.removeSharedDatabase(file)
    }

    @discardableResult
    private func forget(_ file: String) -> Bool {
        guard let database = databases.withLock({ $0.removeValue(forKey: file) }) else { return false }
        database.end()
        return true
    }

    private func end(where isLost: (VolatileDatabase) -> Bool) {
        let ended = databases.withLock { databases in
            let ended = databases.filter { isLost($0.value) }
            for file in ended.keys { databases[file] = nil }
            return ended
        }
        for database in ended.values { database.end() }
    }
}
