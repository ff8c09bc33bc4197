import Coffer

/// The code of the article Recovery, compiled.
enum RecoveryGuide {
    static func make(
        in vault: Vault, _ passcode: Passcode, show: (consuming SecretBytes) throws -> Void,
        readBack: () throws -> RecoveryKey
    ) async throws {
        // snippet: makeRecoveryKey
        let key = try RecoveryKey.generate()
        try show(key.text())
        guard try readBack().isEqual(to: key) else { return }  // such as RecoveryKey.readFromTerminal()
        try await vault.setRecoveryKey(key, passcode: passcode)
        // snippet end
    }

    static func recover(
        _ location: VaultLocation, _ typed: RecoveryKey, _ passcode: Passcode,
        show: (consuming SecretBytes) throws -> Void
    ) async throws -> (Vault, PasscodeDependentItems?) {
        // snippet: recover
        let recovery = try await VaultRecovery(of: location, with: typed)
        let next = try RecoveryKey.generate()
        try show(next.text())
        let (vault, destroyed) = try await recovery.finish(newPasscode: passcode, newRecoveryKey: next)
        // snippet end
        return (vault, destroyed)
    }
}
