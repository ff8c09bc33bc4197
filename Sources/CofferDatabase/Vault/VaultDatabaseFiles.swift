import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite
import Synchronization
import SystemPackage

/// The databases in the directory of a vault, each with a random key that the vault keeps among its tokens.
///
/// So the lock and the class of the key hold for the database, destroying the key destroys it, and wiping the
/// vault destroys all of them. A lock that drops the class takes the key back from the databases that are
/// open, on its own thread: whatever is open fails from then on.
final class VaultDatabaseFiles: Sendable {
    /// What tells the databases of one use from another's: the first part of the file's name.
    typealias Scope = String

    /// A key lent to a database, and the class that it goes with.
    struct Lent: Sendable {
        let lease: DatabaseLease
        let protection: ProtectionClass
        let path: FilePath
    }

    private struct Loan {
        weak var lease: DatabaseLease?
        let protection: ProtectionClass
    }

    let session: Session
    private let loans = Mutex<[Loan]>([])

    init(_ session: Session) {
        self.session = session
        session.observeLosses { [weak self] loss in self?.takeBack(loss.contains) }
    }

    private func takeBack(_ isLost: (ProtectionClass) -> Bool) {
        let lost = loans.withLock { loans in
            let lost = loans.filter { isLost($0.protection) }.compactMap(\.lease)
            loans.removeAll { $0.lease == nil || isLost($0.protection) }
            return lost
        }
        for lease in lost { lease.revoke() }
    }

    /// Lends the key of a database, made where there is neither key nor database.
    ///
    /// Throws `locked`, `wiped`; `refused` for a class that needs a passcode where none is set; `corrupt`
    /// when the database is there and its key is not.
    func lend(_ scope: Scope, _ name: String, class protection: ProtectionClass) async throws(CofferError)
        -> Lent
    {
        let id = try StoreKeys.id(scope, name)
        let found = try await key(id, scope, name, class: protection)
        let secret = try found.token.exposing { (bytes) throws(CofferError) in
            try SecretBytes.copying(bytes)
        }
        let lease = try DatabaseKey.raw(secret).lease()
        loans.withLock { loans in
            loans.removeAll { $0.lease == nil }
            loans.append(Loan(lease: lease, protection: found.protection))
        }
        // The lock may have come between reading the key and lending it.
        guard session.holdsKey(of: found.protection) else {
            lease.revoke()
            throw CofferError(.locked, "The vault was locked while the database was opened.")
        }
        return Lent(
            lease: lease, protection: found.protection,
            path: directory.appending(StoreKeys.file(scope, name)))
    }

    /// The scopes and names of the databases that there are; known also while the vault is locked.
    func names() async throws(CofferError) -> [(scope: Scope, name: String)] {
        let directory = directory
        return try await BlockingWork.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return [] }
            return try files.names().compactMap { StoreKeys.parts(of: $0.string) }
        }
    }

    /// Whether a database is there.
    func contains(_ scope: Scope, _ name: String) async throws(CofferError) -> Bool {
        let directory = directory
        return try await BlockingWork.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return false }
            return try files.status(of: FilePath(StoreKeys.file(scope, name))) != nil
        }
    }

    /// Destroys the key, then removes the files; gives whether there was any. Works while the vault is
    /// locked.
    func destroy(_ scope: Scope, _ name: String) async throws(CofferError) -> Bool {
        let hadKey = try await session.tokens.remove(StoreKeys.id(scope, name))
        let directory = directory
        return try await BlockingWork.run { _ throws(CofferError) in
            guard let files = try Self.opened(directory) else { return hadKey }
            let hadFile = try StoreKeys.remove(StoreKeys.file(scope, name), from: files)
            try files.sync()
            return hadKey || hadFile
        }
    }

    private var directory: FilePath { session.vaultDirectory.pushing(StoreKeys.directory) }

    private static func opened(_ path: FilePath) throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            return try Descriptor.open(path, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    private struct Key: Sendable {
        let token: Token
        let protection: ProtectionClass
    }

    /// The key, made when there is no database yet. None is made because an old one cannot be read.
    private func key(
        _ id: TokenID, _ scope: Scope, _ name: String, class protection: ProtectionClass
    ) async throws(CofferError) -> Key {
        if let key = try await stored(id) { return key }
        guard try await !contains(scope, name) else {
            throw CofferError(.corrupt, "The key of the database \(id.account) is missing.")
        }
        try await makeDirectory()
        do throws(CofferError) {
            let key = try Token(SecretBytes.random(count: 32))
            try await session.tokens.putReserved(key, for: id, class: protection)
        } catch {
            // Another process was faster.
            guard error.code == .conflict else { throw error }
        }
        // Read again: a locked vault takes a token in but does not give it out.
        guard let key = try await stored(id) else {
            throw CofferError(.conflict, "The database \(id.account) was destroyed while it was opened.")
        }
        return key
    }

    private func stored(_ id: TokenID) async throws(CofferError) -> Key? {
        try await session.tokens.withToken(for: id) { Key(token: $0, protection: $1.protection) }
    }

    private func makeDirectory() async throws(CofferError) {
        let vault = session.vaultDirectory
        try await BlockingWork.run { _ throws(CofferError) in
            do throws(CofferError) {
                try Descriptor.open(vault, [.read, .directory]).makeDirectory(StoreKeys.directory)
            } catch {
                guard error.code == .alreadyExists else { throw error }
            }
        }
    }
}
