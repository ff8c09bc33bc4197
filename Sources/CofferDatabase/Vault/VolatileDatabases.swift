import Coffer
import CofferBase
import CofferEngine
import Synchronization

/// The session-only databases of one ``VaultDatabaseFiles``, indexed by file name.
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

    /// Returns a database; `nil` if the session has none with this file name.
    func find(_ file: String) -> VolatileDatabase? { databases.withLock { $0[file] } }

    /// The file names of the databases.
    var files: [String] { databases.withLock { Array($0.keys) } }

    /// Returns a database, creating it if necessary. An existing one keeps its class.
    ///
    /// - Throws: `locked`; `wiped`; `refused` if the class needs a passcode and none is set, or if the
    ///   vault's directory of databases is not safe; `readOnly`, `permissionDenied` or `noSpace`.
    func database(_ file: String, class protection: ProtectionClass) throws(CofferError) -> VolatileDatabase {
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
        // The vault may have been locked before the database was in the list.
        guard session.hasKey(of: database.protection) else {
            remove(file)
            throw VolatileDatabase.endedError
        }
        return database
    }

    /// Ends a database's session. Returns whether the database existed.
    @discardableResult
    func remove(_ file: String) -> Bool {
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
