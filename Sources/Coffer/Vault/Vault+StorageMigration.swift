public import CofferBase
public import CofferVault

extension Vault {
    /// Moves the device key and the tokens to another storage backend. You can call this method while the
    /// vault is locked.
    ///
    /// The items are copied and the copies are read back before the originals are removed. After an error or
    /// a crash, all items are in one backend or the other, and the call can be repeated.
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
    /// - Throws: `locked` if a passcode is required and none was passed; `wrongPasscode` if the passcode is
    ///   wrong; `attemptDelayed` if the attempt came too soon after a wrong passcode; `alreadyExists` if the
    ///   vault already uses `backend`; `noSessionBus` if there is no session bus; `noSecretService` if the
    ///   bus has no Secret Service; `noDefaultCollection` if the Secret Service has no default collection;
    ///   `keyringLocked` if the user's keyring is locked; `noPrompter` if the keyring would have to prompt
    ///   the user but cannot; `promptDismissed` if the user closed the prompt; `timedOut` if the Secret
    ///   Service did not answer in time; `interrupted` if it disappeared during a call; `ambiguous` if the
    ///   keyring has several matching entries; `busy` if another process holds the vault's lock for too long;
    ///   `wiped`.
    public func migrateStorage(
        to backend: KeyringBackend, passcode: Passcode? = nil
    ) async throws(CofferError) -> StorageMigration {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.managed.policy().requireKeyring(backend)
            if backend == .file, try core.activeStorage.backend() != .file { try core.verify(passcode) }
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try StorageMigrator(home: core.home, device: core.device).move(to: backend, in: vault)
            }
        }
    }
}
