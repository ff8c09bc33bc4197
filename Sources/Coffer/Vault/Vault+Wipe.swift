public import CofferBase
import CofferVault
import Synchronization

extension Vault {
    /// Erases the vault at `location` without opening it. Unless `scope` is `tokens`, neither the vault nor
    /// its state has to be readable.
    ///
    /// The method refuses only directories that show no sign of a vault and directories that belong to
    /// another user.
    ///
    /// - Parameters:
    ///   - scope: The part of the vault to erase.
    ///   - location: The vault's directory.
    ///   - reason: The reason to state in the receipt.
    ///   - clock: The clock that the wipe uses.
    /// - Returns: A receipt that describes what was removed.
    /// - Throws: `notInitialised` if the directory shows no sign of a vault; `refused` if it belongs to
    ///   another user; `wiped` if the vault was already wiped; otherwise, the errors that ``wipe(_:reason:)``
    ///   throws.
    public static func wipe(
        _ scope: WipeScope = .all, at location: VaultLocation, reason: String = "asked for",
        clock: VaultClock = .system
    ) async throws(CofferError) -> WipeReceipt {
        try await startWipe(scope, at: location, reason: reason, clock: clock).receipt
    }

    /// Starts erasing the vault at `location` without opening it, and returns the running wipe.
    ///
    /// - Parameters:
    ///   - scope: The part of the vault to erase.
    ///   - location: The vault's directory.
    ///   - reason: The reason to state in the receipt.
    ///   - clock: The clock that the wipe uses.
    /// - Returns: The wipe, which runs to completion even if you do not await it.
    public static func startWipe(
        _ scope: WipeScope = .all, at location: VaultLocation, reason: String = "asked for",
        clock: VaultClock = .system
    ) -> WipeOperation {
        WipeOperation { report async throws(CofferError) in
            try await BlockingExecutor.run { _ throws(CofferError) in
                if scope == .tokens {
                    try VaultEraser.finishInterrupted(at: location, clock: clock)
                } else if let parentVault = location.parentVault {
                    try? VaultEraser.finishInterrupted(at: parentVault, clock: clock)
                }
                let home = try VaultDirectory.openForWiping(location) { WipeTarget($0).isVault }
                defer { try? OrphanedSecretItems(home: home).collect() }
                return try VaultEraser(home: home, clock: clock, report: report).run(
                    scope, reason: reason, by: nil)
            }
        }
    }

    /// Erases this vault or a part of it. A wipe cannot be undone. You can call this method while the vault
    /// is locked.
    ///
    /// Unless `scope` is `tokens`, the wipe also removes the erased vault's keys from every `Vault` object in
    /// this process. ``WipeReceipt`` describes what a wipe can and cannot prove.
    ///
    /// A failure does not stop the wipe; the error lists everything that is provably still there. If another
    /// process holds the vault's lock for ten seconds, the wipe continues without the lock, unless `scope` is
    /// `tokens`. If the disk is read-only, keys in memory and in keyrings are removed anyway, and the error
    /// reports their removal.
    ///
    /// - Parameters:
    ///   - scope: The part of the vault to erase.
    ///   - reason: The reason to state in the receipt.
    /// - Returns: A receipt that describes what was removed.
    /// - Throws: `readOnly` if the disk is read-only; `busy` for the scope `tokens`, if another process holds
    ///   the vault's lock for too long; `notInitialised` if a user has no namespace; `wiped` if the vault or
    ///   the namespace was already wiped; otherwise, the error that prevented the removal of the first
    ///   remaining item. After any error, the next opening of the vault finishes the wipe, unless the error
    ///   occurred before anything was changed.
    public func wipe(
        _ scope: WipeScope = .all, reason: String = "asked for"
    ) async throws(CofferError) -> WipeReceipt {
        try await startWipe(scope, reason: reason).receipt
    }

    /// Starts erasing this vault or a part of it, as ``wipe(_:reason:)`` does, and returns the running wipe.
    ///
    /// - Parameters:
    ///   - scope: The part of the vault to erase.
    ///   - reason: The reason to state in the receipt.
    /// - Returns: The wipe, which runs to completion even if you do not await it.
    public func startWipe(_ scope: WipeScope = .all, reason: String = "asked for") -> WipeOperation {
        let core = core
        return WipeOperation { report async throws(CofferError) in
            let end = try await BlockingExecutor.run { _ throws(CofferError) in
                try VaultEraser(home: core.home, clock: core.clock, report: report).run(
                    scope, reason: reason, by: core)
            }
            // The keys are gone, so no open store can be opened again. The stores close before the wipe
            // operation ends.
            if scope == .all { for store in core.stores { await store.vaultDidWipe() } }
            return end
        }
    }

    /// Registers a store outside this library, such as a set of databases. A wipe closes the store before the
    /// wipe ends. The vault does not retain the store.
    public func register(_ store: any VaultObserver) {
        core.registered.withLock { stores in
            stores.removeAll { $0.store == nil }
            stores.append(WeakObserver(store: store))
        }
    }
}
