public import Coffer
public import CofferBase
import CofferEngine
public import GRDB

/// A set of encrypted databases in a vault's directory, each with a random key that the vault stores as a
/// token.
///
/// Therefore the vault's lock and the key's class also apply to the database, destroying the key destroys the
/// database, and wiping the vault destroys all databases.
public struct VaultSoupDatabases: SoupDatabases {
    /// The service name of the vault tokens that hold the keys.
    public static let keyService = DatabaseKeyNaming.service

    /// The time in seconds that a connection waits for another process's transaction.
    private static let busyDeadline = 10.0

    private let files: VaultDatabaseFiles
    /// The class of new databases; `nil` for the vault's default.
    private let protection: ProtectionClass?
    private let isVolatile: Bool

    /// Creates a value that manages a vault's databases.
    ///
    /// - Parameters:
    ///   - vault: The vault, which must be unlocked when a database is opened.
    ///   - protection: The class that determines when new databases can be opened; `nil` for the vault's
    ///     default.
    ///   - isVolatile: Whether the databases are session-only: their keys are never stored, and any lock
    ///     removes the databases. This value then opens, lists and destroys only its own.
    public init(
        _ vault: Vault, class protection: ProtectionClass? = nil,
        isVolatile: Bool = false
    ) {
        files = VaultDatabaseFiles(vault)
        self.protection = protection
        self.isVolatile = isVolatile
    }

    /// Opens a database. Creates the database and its key when neither exists.
    ///
    /// - Throws: `locked`; `wiped`; `refused` if the class needs a passcode and none is set; `corrupt` if a
    ///   database of this name was created but its key is missing, or its file is missing or empty;
    ///   `conflict` if the databases are session-only and a stored one of this name exists; also the errors
    ///   of ``EncryptedDatabase/pool(at:key:configuration:)-(FilePath,_,_)``.
    public func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter {
        var configuration = files.keepingSession(Configuration())
        configuration.busyMode = .timeout(Self.busyDeadline)
        let (pool, access) = try await opened(name, configuration)
        files.invalidate(pool, of: access, unless: nil)
        await files.noteCreation(of: access, by: pool)
        return pool
    }

    private func opened(
        _ name: SoupStoreName, _ configuration: Configuration
    ) async throws(CofferError) -> (pool: DatabasePool, access: VaultDatabaseFiles.Access) {
        do {
            let (pool, access) = try await files.opening(
                name.scope.rawValue, name.name, class: protection, isVolatile: isVolatile
            ) { access in
                try EncryptedDatabase.pool(
                    at: access.path, handle: access.handle, configuration: configuration)
            }
            return (pool, access)
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    /// Returns the names of the existing databases. You can call this method while the vault is locked.
    public func names() async throws(CofferError) -> [SoupStoreName] {
        let names = try await isVolatile ? files.volatileNames() : files.names()
        return names.compactMap { found in
            SoupStoreName.Scope(rawValue: found.scope).flatMap { try? SoupStoreName(found.name, $0) }
        }
    }

    /// Destroys a database's key and then removes its files. Returns whether the key or a file existed. You
    /// can call this method while the vault is locked.
    public func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool {
        guard !isVolatile else { return try await files.destroyVolatile(name.scope.rawValue, name.name) }
        return try await files.destroy(name.scope.rawValue, name.name)
    }
}

extension SoupStores {
    /// Creates an actor that manages a vault's stores. A lock closes the stores if it evicts their class key;
    /// closing or wiping the vault also closes them.
    ///
    /// - Parameters:
    ///   - vault: The vault that contains the stores.
    ///   - protection: The class that determines when new stores can be opened; `nil` for the vault's
    ///     default.
    ///   - isVolatile: Whether the stores are session-only: their keys are never stored, and any lock removes
    ///     the stores. This actor then opens, lists and removes only its own.
    ///   - policy: The policy that determines how a logout, or the revocation of a grant, affects the stores.
    ///     Report these events with ``apply(_:)``. When a user's grant is revoked, the stores in the
    ///     user's namespace are removed automatically.
    ///   - clock: The clock that supplies dates.
    public init(
        _ vault: Vault, class protection: ProtectionClass? = nil,
        isVolatile: Bool = false, policy: SoupStorePolicy = SoupStorePolicy(), clock: VaultClock = .system
    ) {
        self.init(
            VaultSoupDatabases(vault, class: protection, isVolatile: isVolatile), policy: policy,
            clock: clock)
        vault.register(self)
        let events = vault.events
        Task.detached(executorPreference: MainExecutor.current) { [weak stores = self] in
            for await event in events {
                guard let stores else { return }
                switch event.kind {
                case .unlocked, .revoked, .revocationProcessed, .policyChanged: continue
                case .locked:
                    // A lock evicts the vault's default class, whichever that is.
                    if isVolatile || protection?.isEvictedOnLock ?? true { await stores.close() }
                case .closed, .wiped: await stores.close()
                }
            }
        }
    }
}
