import Synchronization

/// The sessions that this process has open, by vault: whoever wipes a vault has all of them forget what they
/// hold.
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

    /// Those of every vault.
    static var all: [VaultCore] { entries.withLock { $0.values.flatMap { $0.compactMap(\.core) } } }

    /// Those of one vault.
    static func of(_ vaultID: VaultID) -> [VaultCore] {
        entries.withLock { $0[vaultID]?.compactMap(\.core) ?? [] }
    }
}
