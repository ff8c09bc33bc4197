public import CofferBase
public import CofferVault

extension Vault {
    /// Generates a recovery key and makes it the vault's recovery key, in place of an older one.
    ///
    /// Where the key is shown before it counts, as on a sheet that the user must read back, generate the key
    /// yourself and call ``setRecoveryKey(_:passcode:keepingDeviceKey:)``.
    ///
    /// - Parameters:
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    ///   - keepingDeviceKey: Whether the recovery key also opens the vault if its device key is lost.
    /// - Returns: The recovery key, which the vault does not store.
    /// - Throws: The errors that ``setRecoveryKey(_:passcode:keepingDeviceKey:)`` throws.
    public func createRecoveryKey(
        passcode: Passcode?, keepingDeviceKey: Bool = true
    ) async throws(CofferError) -> RecoveryKey {
        let key = try RecoveryKey.generate()
        try await setRecoveryKey(key, passcode: passcode, keepingDeviceKey: keepingDeviceKey)
        return key
    }

    /// Makes a generated key the vault's recovery key, in place of an older one, which opens nothing from
    /// then on. The passcode is needed even while the vault is unlocked, so that someone who merely finds it
    /// unlocked cannot keep a way in.
    ///
    /// The recovery key opens every class except ``ProtectionClass/whenPasscodeSetThisDeviceOnly``. It stays
    /// valid when the passcode changes. A wipe destroys what it opens, as does the tenth wrong passcode.
    ///
    /// - Parameters:
    ///   - key: A key from `RecoveryKey.generate()`.
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    ///   - keepingDeviceKey: Whether to store a copy of the device key that the recovery key opens. Without
    ///     it, nothing opens the vault when the device key is lost, and with it, the vault can be opened on
    ///     another device by anyone who has the recovery key and a copy of the vault directory.
    /// - Throws: `refused` if ``VaultSettings/allowsRecoveryKey`` is off, or if `key` is the vault's recovery
    ///   key already; otherwise, the errors that ``unlock(with:)`` throws. If the
    ///   disk fails, the message may say that either key can be valid.
    public func setRecoveryKey(
        _ key: RecoveryKey, passcode: Passcode?, keepingDeviceKey: Bool = true
    ) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.setRecoveryKey(key, passcode: passcode, keepingDeviceKey: keepingDeviceKey)
        }
    }

    /// Checks that a recovery key opens every recovery slot of the vault and, if the vault has one, the copy
    /// of the device key. You can call this method while the vault is locked; it unlocks nothing.
    ///
    /// - Parameter key: The recovery key.
    /// - Throws: `absent` if the vault has no recovery key; `notAuthentic` if `key` is not the vault's;
    ///   `corrupt` if the key is right but a slot is damaged; `wiped`.
    public func checkRecoveryKey(_ key: RecoveryKey) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in try core.checkRecoveryKey(key) }
    }

    /// Removes the recovery key: it opens nothing from then on. You can call this method while the vault is
    /// locked.
    ///
    /// - Returns: Whether there was a recovery key.
    /// - Throws: `readOnly`; `busy` if another process holds the vault's lock for too long; `wiped` or
    ///   `corrupt`.
    @discardableResult
    public func removeRecoveryKey() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.removeRecoveryKey() }
    }

    /// Returns what the vault says about its recovery key; `nil` if there is none. You can call this method
    /// while the vault is locked.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func recoveryKeyStatus() async throws(CofferError) -> RecoveryKeyStatus? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readKeybag().recoverySlots.map(RecoveryKeyStatus.init)
        }
    }
}
