package import CofferBase
package import CofferCrypto
import CofferEngine
package import CofferVault
package import SystemPackage

/// A session-only database that this user's other processes find until the vault is locked.
///
/// In the kernel keyring there is only the session's secret; the key is derived from it, the class key and
/// the random number in the name of the database's directory.
package final class SharedDatabase: Sendable {
    package let key: SecretBytes
    package let protection: ProtectionClass
    /// The path of the database's file.
    package let path: FilePath

    init(_ key: consuming SecretBytes, _ protection: ProtectionClass, _ path: FilePath) {
        self.key = key
        self.protection = protection
        self.path = path
    }
}

extension Vault {
    /// A database in the vault's directory whose session has not ended.
    private struct Found {
        let directory: SharedDatabaseDirectory
        let file: String
        let protection: ProtectionClass
    }

    /// Whether session-only items are kept where this user's other processes find them.
    package var sharesSessions: Bool { files.volatileKeys.isSharing }

    /// Returns the file names and classes of the session-only databases that this user's processes share.
    /// Where the kernel keyring cannot be searched, there are none.
    package func sharedDatabases() throws(CofferError) -> [(file: String, protection: ProtectionClass)] {
        try found(in: core.home.openVault()).map { ($0.file, $0.protection) }
    }

    /// Opens a session-only database, creating it if there is none. An existing one keeps its class.
    ///
    /// - Throws: `locked`; `wiped`; `refused` if the class needs a passcode and none is set, or if the
    ///   vault's directory of databases is not safe; `unsupported` without a kernel keyring; `readOnly`,
    ///   `permissionDenied` or `noSpace`.
    package func sharedDatabase(
        _ file: String, class protection: ProtectionClass
    ) throws(CofferError) -> SharedDatabase {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            if let found = try find(file, in: vault) { return try opened(found) }
            _ = try core.keyForStoring(protection)
            let session = try files.volatileKeys.sessionInKernel(protection)
            // A session that began after a concurrent lock protects nothing yet.
            guard core.keys.present(protection) != nil else { throw CofferError.locked }
            let directory = try SharedDatabaseDirectory(session: session)
            try directory.make(file, in: vault)
            return try opened(Found(directory: directory, file: file, protection: protection))
        }
    }

    /// Removes a session-only database. Returns whether it existed.
    package func removeSharedDatabase(_ file: String) throws(CofferError) -> Bool {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            guard let found = try find(file, in: vault) else { return false }
            found.directory.remove(in: vault)
            return true
        }
    }

    /// Removes the session-only databases whose sessions have ended, whether they were one process's or
    /// shared, and ignores any failure to do so.
    static func removeEndedDatabases(
        in vault: borrowing Descriptor, of vaultIDs: [VaultID], boot: String
    ) {
        VolatileDatabaseDirectory.removeEnded(in: vault)
        SharedDatabaseDirectory.removeEnded(in: vault) { () throws(CofferError) in
            var current: Set<[UInt8]> = []
            for vaultID in vaultIDs {
                current.formUnion(try VolatileFileKeys.sessionsInKernel(of: vaultID, boot: boot).values)
            }
            return current
        }
    }

    private func find(_ file: String, in vault: borrowing Descriptor) throws(CofferError) -> Found? {
        try found(in: vault).first { $0.file.hasSameBytes(as: file) }
    }

    private func found(in vault: borrowing Descriptor) throws(CofferError) -> [Found] {
        let directories = try SharedDatabaseDirectory.all(in: vault)
        guard !directories.isEmpty, let sessions = try? files.volatileKeys.sessionsInKernel() else {
            return []
        }
        var found: [Found] = []
        for directory in directories {
            guard let protection = sessions.first(where: { $0.value == directory.session })?.key,
                let file = try directory.file(in: vault)
            else { continue }
            found.append(Found(directory: directory, file: file, protection: protection))
        }
        return found
    }

    private func opened(_ found: Found) throws(CofferError) -> SharedDatabase {
        let classKey = try core.keys.key(found.protection)
        let key = try files.volatileKeys.databaseKey(
            found.directory.number, found.directory.session, found.protection, classKey)
        guard let key else { throw CofferError.locked }
        let path = vaultDirectory.pushing(DatabaseKeyNaming.directory).pushing(found.directory.name)
        return SharedDatabase(key, found.protection, path.appending(found.file))
    }
}
