public import Coffer
public import CofferBase
public import GRDB

/// Encrypted databases in the directory of a vault, each with a random key that the vault keeps as a token.
///
/// So the lock and the class of the key hold for the database, destroying the key destroys it, and wiping the
/// vault destroys all of them.
public struct VaultSoupDatabases: SoupDatabases {
    /// The service under which the keys stand among the vault's tokens.
    public static let keyService = DatabaseKeyNaming.service

    /// How long one connection waits for another process's transaction.
    private static let busyDeadline = 10.0

    private let files: VaultDatabaseFiles
    private let protection: ProtectionClass

    /// The databases of a vault.
    ///
    /// - Parameters:
    ///   - session: The vault, which must be unlocked when a database is opened.
    ///   - protection: When the databases can be opened.
    public init(
        _ session: Vault, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) {
        files = VaultDatabaseFiles(session)
        self.protection = protection
    }

    /// Opens a database, making it and its key when there is neither.
    ///
    /// - Throws: `locked`, `wiped`; `corrupt` when the database is there and its key is not.
    public func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter {
        let access = try await files.access(name.scope.rawValue, name.name, class: protection)
        var configuration = files.keepingSession(Configuration())
        configuration.busyMode = .timeout(Self.busyDeadline)
        let pool = try await BlockingExecutor.run { [configuration] _ throws(CofferError) in
            do {
                return try EncryptedDatabase.pool(
                    at: access.path, lease: access.lease, configuration: configuration)
            } catch {
                throw EncryptedDatabase.failure(error)
            }
        }
        files.invalidate(pool, of: access, unless: nil)
        await files.noteCreation(of: access, by: pool)
        return pool
    }

    /// The databases that there are; known also while the vault is locked.
    public func names() async throws(CofferError) -> [SoupStoreName] {
        try await files.names().compactMap { found in
            SoupStoreName.Scope(rawValue: found.scope).flatMap { try? SoupStoreName(found.name, $0) }
        }
    }

    /// Destroys the key, then removes the files. Works while the vault is locked.
    public func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool {
        try await files.destroy(name.scope.rawValue, name.name)
    }
}

extension SoupStores {
    /// The stores of a vault. They close when it locks, where their class does, and when it is closed or
    /// wiped.
    ///
    /// - Parameters:
    ///   - session: The vault.
    ///   - protection: When the stores can be opened.
    ///   - policy: What becomes of them when the user logs out, or a grant is taken back: say so with
    ///     ``apply(_:)``. Stores in the user's namespace go with its revoked grant by themselves.
    ///   - time: The clock that dates come from.
    /// - Returns: The stores.
    public static func of(
        _ session: Vault, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        policy: SoupStorePolicy = SoupStorePolicy(), time: VaultClock = .system
    ) -> SoupStores {
        let stores = SoupStores(
            VaultSoupDatabases(session, class: protection), policy: policy, time: time)
        session.register(stores)
        let events = session.events
        Task.detached { [weak stores] in
            for await event in events {
                guard let stores else { return }
                switch event.kind {
                case .unlocked, .revoked, .revocationProcessed: continue
                case .locked: if protection.isEvictedOnLock { await stores.close() }
                case .closed, .wiped: await stores.close()
                }
            }
        }
        return stores
    }
}
