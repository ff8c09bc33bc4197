public import CofferBase
import Synchronization

extension Vault {
    /// Erases the vault at `location` without opening it. Nothing in it has to be readable, nor its state.
    ///
    /// Refused is only what shows no sign of a vault, and what belongs to another user.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - location: The home's directory.
    ///   - reason: What the receipt says.
    ///   - time: The clocks to go by.
    /// - Returns: What was removed.
    /// - Throws: `notInitialised`, `wiped`, `refused`; otherwise as ``wipe(_:reason:)``.
    public static func wipe(
        _ scope: WipeScope = .all, at location: VaultLocation, reason: String = "asked for",
        time: VaultClock = .system
    ) async throws(CofferError) -> WipeReceipt {
        try await startWipe(scope, at: location, reason: reason, time: time).receipt
    }

    /// Begins to erase the vault at `location` without opening it; gives its progress.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - location: The home's directory.
    ///   - reason: What the receipt says.
    ///   - time: The clocks to go by.
    /// - Returns: The wipe, which goes on by itself.
    public static func startWipe(
        _ scope: WipeScope = .all, at location: VaultLocation, reason: String = "asked for",
        time: VaultClock = .system
    ) -> WipeOperation {
        WipeOperation { report async throws(CofferError) in
            try await BlockingExecutor.run { _ throws(CofferError) in
                if scope == .tokens {
                    try VaultEraser.finishInterrupted(at: location, time: time)
                } else if let parentVault = location.parentVault {
                    try? VaultEraser.finishInterrupted(at: parentVault, time: time)
                }
                let home = try VaultDirectory.openForWiping(location)
                defer { try? OrphanedSecretItems(home: home).collect() }
                return try VaultEraser(home: home, time: time, report: report).run(
                    scope, reason: reason, by: nil)
            }
        }
    }

    /// Erases this vault, or a part of it: see ``WipeReceipt``. Works while locked and cannot be undone.
    /// Every session of this process on the vault forgets what it holds.
    ///
    /// A failure stops nothing else: the wipe goes on, and the error names what is provably still there.
    /// Where the home's lock is held for ten seconds, the wipe goes on without it. Where the disk takes no
    /// change, what is in memory and in keyrings goes all the same, and the error says so.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - reason: What the receipt says.
    /// - Returns: What was removed.
    /// - Throws: `readOnly`; `busy` for the tokens alone, when another process holds the home for long; for a
    ///   user's namespace `notInitialised` and `wiped`, as that is; otherwise what kept the first thing that
    ///   is still there. After any error, opening the home means finishing the wipe, unless the error came
    ///   before anything was touched.
    public func wipe(
        _ scope: WipeScope = .all, reason: String = "asked for"
    ) async throws(CofferError) -> WipeReceipt {
        try await startWipe(scope, reason: reason).receipt
    }

    /// Begins to erase this vault, or a part of it, and gives its progress: as ``wipe(_:reason:)``.
    ///
    /// - Parameters:
    ///   - scope: What of it is erased.
    ///   - reason: What the receipt says.
    /// - Returns: The wipe, which goes on by itself.
    public func startWipe(_ scope: WipeScope = .all, reason: String = "asked for") -> WipeOperation {
        let core = core
        return WipeOperation { report async throws(CofferError) in
            let end = try await BlockingExecutor.run { _ throws(CofferError) in
                try VaultEraser(home: core.home, time: core.time, report: report).run(
                    scope, reason: reason, by: core)
            }
            // The keys are gone: what is open cannot be opened again. It closes before we say done.
            if scope == .all { for store in core.stores { await store.vaultDidWipe() } }
            return end
        }
    }

    /// Has a store outside of this library, such as a set of databases, close before a wipe is done. It is
    /// not kept alive by this.
    public func register(_ store: any VaultObserver) {
        core.registered.withLock { stores in
            stores.removeAll { $0.store == nil }
            stores.append(WeakObserver(store: store))
        }
    }
}

/// A store that is not kept alive.
struct WeakObserver {
    weak var store: (any VaultObserver)?
}

extension VaultCore {
    /// The stores that registered and are there.
    fileprivate var stores: [any VaultObserver] { registered.withLock { $0.compactMap(\.store) } }
}
