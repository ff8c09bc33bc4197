import CofferBase
import CofferVault
import Synchronization

/// A storage for ephemeral tokens, either in this process's memory or in the kernel keyring, where later
/// commands find them. The tokens are sealed like stored tokens, and every lock drops them.
final class EphemeralTokens: ItemStorage {
    private let memory = InMemoryStorage()
    private let kernel: KernelKeyringStorage
    private let key: @Sendable (ProtectionClass) -> ClassKey?
    private let isShared = Atomic(false)

    init(
        vaultID: VaultID, timeout: @autoclosure @escaping @Sendable () -> Int?, keys: ClassKeyStore,
        boot: @escaping @Sendable () -> String
    ) {
        // The key store notifies the observers that clear this object, so this object must not retain the key
        // store.
        let key: @Sendable (ProtectionClass) -> ClassKey? = { [weak keys] in keys?.present($0) }
        kernel = KernelKeyringStorage(vaultID: vaultID, timeout: timeout(), boot: boot, key: key)
        self.key = key
    }

    /// Keeps ephemeral tokens in the kernel keyring from now on.
    func share() { isShared.store(true, ordering: .sequentiallyConsistent) }

    /// Whether ephemeral tokens are kept in this process's memory and none exist.
    var isEmptyInMemory: Bool {
        !isShared.load(ordering: .sequentiallyConsistent) && memory.isEmpty
    }

    /// Drops all tokens from this process's memory.
    func clear() { memory.removeAll() }

    /// Drops the tokens in the given classes from this process's memory.
    func clear(_ classes: Set<ProtectionClass>) {
        memory.removeAll { envelope in
            (try? TokenEnvelope.decode(envelope)).map { classes.contains($0.protection) } ?? true
        }
    }

    private var storage: any ItemStorage {
        isShared.load(ordering: .sequentiallyConsistent) ? kernel : memory
    }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? { try storage.envelope(name) }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] { try storage.envelopes() }

    func count() throws(CofferError) -> Int { try storage.count() }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        try storage.apply(changes)
        // A token that a concurrent lock has just cleared must not reappear.
        for (name, change) in changes {
            guard case .put(let envelope) = change,
                try key(TokenEnvelope.decode(envelope).protection) == nil
            else { continue }
            try storage.remove(name)
            throw CofferError.locked
        }
    }
}
