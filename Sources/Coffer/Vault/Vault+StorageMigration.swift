public import CofferBase
public import CofferVault

extension Vault {
    /// Moves the device key and the tokens to another storage backend. Works while locked.
    ///
    /// Copies them, reads the copies back, and only then removes the originals. After an error or a crash
    /// everything is in one backend or the other, and the call can be repeated.
    ///
    /// With ``KeyringBackend/file``, the device key is a file beside the data it protects, so any copy of the
    /// vault directory contains it. Moving to that backend therefore requires the passcode, if one is set,
    /// even if the vault is unlocked.
    ///
    /// - Parameters:
    ///   - backend: The new storage backend.
    ///   - passcode: The vault's passcode, for a move to ``KeyringBackend/file``. It counts as an attempt to
    ///     unlock.
    /// - Returns: The result of the move.
    /// - Throws: `locked` if a passcode is required and none was passed, `wrongPasscode`, `attemptDelayed`;
    ///   `alreadyExists` if the vault already uses `backend`; the errors of the Secret Service:
    ///   `noSessionBus`, `noSecretService`, `noDefaultCollection`, `keyringLocked`, `noPrompter`,
    ///   `promptDismissed`, `timedOut`, `interrupted`, `ambiguous`; `wiped`, `busy`.
    public func migrateStorage(
        to backend: KeyringBackend, passcode: Passcode? = nil
    ) async throws(CofferError) -> StorageMigration {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            if backend == .file, try core.activeStorage.backend() != .file { try core.verify(passcode) }
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try StorageMigrator(home: core.home, device: core.device).move(to: backend, in: vault)
            }
        }
    }
}
