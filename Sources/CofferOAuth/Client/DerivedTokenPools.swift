import Coffer
import CofferBase
import Synchronization

/// The derived tokens of the sessions that a program uses.
final class DerivedTokenPools: Sendable {
    private let pools = Mutex<[GrantID: DerivedTokenPool]>([:])

    /// Returns the pool of a session.
    func pool(_ id: GrantID, in vault: Vault, clock: VaultClock) -> DerivedTokenPool {
        pools.withLock { pools in
            if let pool = pools[id] { return pool }
            let pool = DerivedTokenPool(vault, clock: clock)
            pools[id] = pool
            return pool
        }
    }

    /// Drops the tokens of a session.
    func drop(_ id: GrantID) { pools.withLock { $0.removeValue(forKey: id) }?.dropAll() }
}
