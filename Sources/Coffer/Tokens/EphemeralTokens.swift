import CofferBase
import Synchronization

/// Where volatile tokens are, sealed like stored ones: in the memory of this process, or in the kernel's
/// keyring, where the next commands find them. Every lock drops them.
final class EphemeralTokens: ItemStorage {
    private let memory = InMemoryStorage()
    private let kernel: KernelKeyringStorage
    private let key: @Sendable (ProtectionClass) -> ClassKey?
    private let isShared = Atomic(false)

    init(vaultID: VaultID, timeout: Int?, keys: ClassKeyStore, boot: @escaping @Sendable () -> String) {
        // The room tells those who empty this of locks: it must not be kept from here.
        let key: @Sendable (ProtectionClass) -> ClassKey? = { [weak keys] in keys?.present($0) }
        kernel = KernelKeyringStorage(vaultID: vaultID, timeout: timeout, boot: boot, key: key)
        self.key = key
    }

    /// From here on they are in the kernel's keyring.
    func share() { isShared.store(true, ordering: .sequentiallyConsistent) }

    /// Whether they are in memory, and there are none.
    var isEmptyInMemory: Bool {
        !isShared.load(ordering: .sequentiallyConsistent) && memory.isEmpty
    }

    /// Drops those of this process.
    func clear() { memory.removeAll() }

    /// Drops those of this process that are of these classes.
    func clear(_ classes: Set<ProtectionClass>) {
        memory.removeAll { envelope in
            (try? TokenEnvelope.decode(envelope)).map { classes.contains($0.protection) } ?? true
        }
    }

    private var keyring: any ItemStorage {
        isShared.load(ordering: .sequentiallyConsistent) ? kernel : memory
    }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? { try keyring.envelope(name) }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] { try keyring.envelopes() }

    func count() throws(CofferError) -> Int { try keyring.count() }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        try keyring.apply(changes)
        // Tokens that a lock has just cleared do not come back.
        for (name, change) in changes {
            guard case .put(let envelope) = change,
                try key(TokenEnvelope.decode(envelope).protection) == nil
            else { continue }
            try keyring.remove(name)
            throw CofferError.locked
        }
    }
}
