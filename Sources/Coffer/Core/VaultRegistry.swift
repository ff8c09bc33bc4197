import CofferVault
import Synchronization

/// The vaults that this process has open, by identifier. Wipes and emergency locks use the registry to evict
/// keys from memory.
enum VaultRegistry {
    private struct Entry {
        weak var core: VaultCore?
    }

    private static let entries = Mutex<[VaultID: [Entry]]>([:])

    static func add(_ core: VaultCore) {
        entries.withLock { entries in
            entries = entries.compactMapValues { entries in
                let alive = entries.filter { $0.core != nil }
                return alive.isEmpty ? nil : alive
            }
            entries[core.device.vaultID, default: []].append(Entry(core: core))
        }
    }

    /// The cores of all open vaults.
    static var all: [VaultCore] { entries.withLock { $0.values.flatMap { $0.compactMap(\.core) } } }

    /// Returns the cores of one vault.
    static func of(_ vaultID: VaultID) -> [VaultCore] {
        entries.withLock { $0[vaultID]?.compactMap(\.core) ?? [] }
    }
}
