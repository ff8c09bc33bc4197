public import Coffer
public import CofferBase
import CofferCrypto
import CofferEngine
public import GRDB
import SystemPackage

/// Encrypted databases in the directory of a vault, each with a random key that the vault keeps as a token.
///
/// So the lock and the class of the key hold for the database, destroying the key destroys it, and wiping the
/// vault destroys all of them.
public struct VaultSoupDatabases: SoupDatabases {
    /// The service under which the keys stand among the vault's tokens.
    public static let keyService = StoreKeys.service

    private static let directoryName = StoreKeys.directory
    private static let suffix = StoreKeys.suffix
    /// What SQLite keeps beside a database.
    private static let companions = ["", "-wal", "-shm", "-journal"]
    /// How long one connection waits for another process's transaction.
    private static let busyDeadline = 10.0

    private let session: Session
    private let protection: ProtectionClass

    /// The databases of a vault.
    ///
    /// - Parameters:
    ///   - session: The vault, which must be unlocked when a database is opened.
    ///   - protection: When the databases can be opened.
    public init(
        _ session: Session, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) {
        self.session = session
        self.protection = protection
    }

    /// Opens a database, making it and its key when there is neither.
    ///
    /// - Throws: `locked`, `wiped`; `corrupt` when the database is there and its key is not.
    public func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter {
        let key = try await key(of: name)
        let path = directory.appending(Self.file(name))
        return try await BlockingWork.run { _ throws(CofferError) in
            var configuration = Configuration()
            configuration.busyMode = .timeout(Self.busyDeadline)
            let secret = try key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
            return try EncryptedDatabase.pool(
                at: path, key: DatabaseKey.raw(secret), configuration: configuration)
        }
    }

    /// The databases that there are; known also while the vault is locked.
    public func names() async throws(CofferError) -> [SoupStoreName] {
        let directory = directory
        return try await BlockingWork.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return [] }
            return try files.names().compactMap { Self.name($0.string) }
        }
    }

    /// Destroys the key, then removes the files. Works while the vault is locked.
    public func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool {
        let hadKey = try await session.tokens.remove(try Self.keyID(name))
        let directory = directory
        return try await BlockingWork.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return hadKey }
            var isFound = hadKey
            for companion in Self.companions {
                let file = FilePath(Self.file(name) + companion)
                if try files.remove(file) { isFound = true }
            }
            try files.sync()
            return isFound
        }
    }

    private var directory: FilePath { session.vaultDirectory.pushing(Self.directoryName) }

    private static func opened(_ path: FilePath) throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            return try Descriptor.open(path, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    private static func file(_ name: SoupStoreName) -> String {
        StoreKeys.file(name.scope.rawValue, name.name)
    }

    private static func name(_ file: String) -> SoupStoreName? {
        guard file.hasSuffix(suffix), let dash = file.firstIndex(of: "-"),
            let scope = SoupStoreName.Scope(rawValue: String(file[..<dash]))
        else { return nil }
        return try? SoupStoreName(String(file[file.index(after: dash)...].dropLast(suffix.count)), scope)
    }

    private static func keyID(_ name: SoupStoreName) throws(CofferError) -> TokenID {
        try StoreKeys.id(name.scope.rawValue, name.name)
    }

    /// The key, made when there is no database yet. None is made because an old one cannot be read.
    private func key(of name: SoupStoreName) async throws(CofferError) -> Token {
        let id = try Self.keyID(name)
        if let key = try await session.tokens.withToken(for: id, { key, _ in key }) { return key }
        guard try await !exists(name) else {
            throw CofferError(.corrupt, "The key of the store \(name) is missing.")
        }
        do throws(CofferError) {
            let key = try Token(SecretBytes.random(count: 32))
            try await session.tokens.put(key, for: id, class: protection, ifVersion: 0)
        } catch {
            // Another process was faster.
            guard error.code == .conflict else { throw error }
        }
        // Read again: a locked vault takes a token in but does not give it out.
        guard let key = try await session.tokens.withToken(for: id, { key, _ in key }) else {
            throw CofferError(.conflict, "The store \(name) was destroyed while it was opened.")
        }
        return key
    }

    /// Whether the database's file is there; makes the directory.
    private func exists(_ name: SoupStoreName) async throws(CofferError) -> Bool {
        let (vault, directory) = (session.vaultDirectory, directory)
        return try await BlockingWork.run { _ throws(CofferError) in
            if let files = try Self.opened(directory) {
                return try files.status(of: FilePath(Self.file(name))) != nil
            }
            do throws(CofferError) {
                try Descriptor.open(vault, [.read, .directory]).makeDirectory(Self.directoryName)
            } catch {
                guard error.code == .alreadyExists else { throw error }
            }
            return false
        }
    }
}

extension SoupStores {
    /// The stores of a vault. They close when it locks, where their class does, and when it is closed or
    /// wiped.
    ///
    /// - Parameters:
    ///   - session: The vault.
    ///   - protection: When the stores can be opened.
    ///   - policy: What becomes of them when the user logs out: say so with ``apply(_:)``.
    ///   - time: The clock that dates come from.
    /// - Returns: The stores.
    public static func of(
        _ session: Session, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        policy: SoupStorePolicy = SoupStorePolicy(), time: TimeSource = .system
    ) -> SoupStores {
        let stores = SoupStores(
            VaultSoupDatabases(session, class: protection), policy: policy, time: time)
        session.register(stores)
        let events = session.events
        Task.detached { [weak stores] in
            for await event in events {
                guard let stores else { return }
                switch event.kind {
                case .unlocked, .revoked, .revocationHandled: continue
                case .locked: if protection.dropsOnLock { await stores.close() }
                case .closed, .wiped: await stores.close()
                }
            }
        }
        return stores
    }
}
