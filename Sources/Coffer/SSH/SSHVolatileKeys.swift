import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// The keys that clients added to an SSH agent. They are in this process's guarded memory only, until they
/// are removed, their time ends, or the process does.
final class SSHVolatileKeys: Sendable {
    private struct Entry {
        let key: SSHAddedKey
        let end: Duration?
    }

    /// The maximum number of keys: guarded memory is limited.
    private static let maxCount = 256

    private let entries = Mutex<[Entry]>([])

    /// Adds a key, in place of the same key with other constraints. Returns whether there was room.
    func add(_ key: SSHAddedKey) -> Bool {
        let end = key.lifetime.map { Clock.sinceBoot + .seconds($0) }
        return entries.withLock { entries in
            entries.removeAll { $0.key.publicKey == key.publicKey }
            guard entries.count < Self.maxCount else { return false }
            entries.append(Entry(key: key, end: end))
            return true
        }
    }

    /// Returns the keys whose time has not ended, and clears the others.
    func all() -> [SSHAddedKey] {
        let now = Clock.sinceBoot
        return entries.withLock { entries in
            entries.removeAll { entry in entry.end.map { $0 <= now } ?? false }
            return entries.map(\.key)
        }
    }

    /// Returns the key with a public key.
    func key(_ publicKey: SigningPublicKey) -> SSHAddedKey? {
        all().first { $0.publicKey == publicKey }
    }

    /// Removes a key. Returns whether there was one.
    func remove(_ publicKey: SigningPublicKey) -> Bool {
        let isThere = key(publicKey) != nil
        entries.withLock { $0.removeAll { $0.key.publicKey == publicKey } }
        return isThere
    }

    func removeAll() { entries.withLock { $0 = [] } }
}
