#if SecretService
    import Coffer
    import CofferBase
    import CofferTesting
    import SystemPackage
    import TestSupport
    import Testing

    /// The device key is in a Secret Service that loses it, or that is gone.
    @Suite("Recovery without the Secret Service's items", .enabled { await FakeSecretService.isPossible() })
    struct LostKeyringTests {
        private static let passcode = "correct horse"
        private static let new = "battery staple"

        private func file(in vault: Vault) async throws -> FileID {
            try await vault.files.add(Array("all that matters".utf8), name: "note.txt")
        }

        private func content(of id: FileID, in vault: Vault) async throws -> [UInt8] {
            try await vault.files.reader(for: id).read(at: 0, count: 1024)
        }

        private func key(of vault: Vault, keepingDeviceKey: Bool = true) async throws -> RecoveryKey {
            try await vault.createRecoveryKey(
                passcode: Passcode(copying: Self.passcode), keepingDeviceKey: keepingDeviceKey)
        }

        @Test("A keyring that was replaced gets the device key again, and files come back")
        func replaced() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: Self.passcode, service: service) { temporary in
                    let id = try await file(in: temporary.vault)
                    let key = try await key(of: temporary.vault)
                    temporary.vault.close()
                    try await service.removeItems()
                    let lost = await refusal { _ = try await temporary.openAnother() }
                    #expect(lost?.code == .keyringUnavailable && lost?.remedy == .useRecoveryKey)
                    let other = try RecoveryKey.generate()
                    let wrong = await refusal {
                        _ = try await VaultRecovery(of: temporary.location, with: other)
                    }
                    #expect(wrong?.code == .notAuthentic)
                    let recovery = try await VaultRecovery(of: temporary.location, with: key)
                    #expect(recovery.isDeviceKeyLost)
                    let next = try RecoveryKey.generate()
                    let (vault, _) = try await recovery.finish(
                        newPasscode: Passcode(copying: Self.new), newRecoveryKey: next)
                    #expect(try await content(of: id, in: vault) == Array("all that matters".utf8))
                    let again = try await temporary.openAnother()
                    #expect(try await again.status().keyring == .secretService)
                    try await again.unlock(with: Passcode(copying: Self.new))
                    try await again.checkRecoveryKey(next)
                }
            }
        }

        @Test("A keyring that is gone is left for the vault's own directory", arguments: [true, false])
        func gone(_ isLocked: Bool) async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: Self.passcode, service: service) { temporary in
                    let id = try await file(in: temporary.vault)
                    let key = try await key(of: temporary.vault)
                    temporary.vault.close()
                    if isLocked { try await service.lock() } else { try await service.removeItems() }
                    let recovery = try await VaultRecovery(of: temporary.location, with: key)
                    let next = try RecoveryKey.generate()
                    let (vault, _) = try await recovery.finish(
                        newPasscode: Passcode(copying: Self.new), newRecoveryKey: next, keyring: .file)
                    #expect(try await content(of: id, in: vault) == Array("all that matters".utf8))
                    let again = try await temporary.openAnother()
                    #expect(try await again.status().keyring == .file)
                    try await again.unlock(with: Passcode(copying: Self.new))
                    try await again.checkRecoveryKey(next)
                    // What a keyring holds that could not be read now stays for its owner.
                    guard isLocked else { return }
                    try await service.lock(false)
                    #expect(try await service.itemCount() > 0)
                    _ = try await temporary.openAnother()
                    #expect(try await service.itemCount() > 0)
                }
            }
        }

        @Test("A strict key opens nothing without the device key")
        func strict() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: Self.passcode, service: service) { temporary in
                    let key = try await key(of: temporary.vault, keepingDeviceKey: false)
                    temporary.vault.close()
                    _ = try await VaultRecovery(of: temporary.location, with: key)
                    try await service.removeItems()
                    let error = await refusal {
                        _ = try await VaultRecovery(of: temporary.location, with: key)
                    }
                    #expect(error?.code == .keyringUnavailable)
                }
            }
        }

        @Test("The key goes on working after the device key moves to the Secret Service and back")
        func moved() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: Self.passcode, service: service) { temporary in
                    let vault = temporary.vault
                    let key = try await key(of: vault)
                    _ = try await vault.migrateStorage(
                        to: .file, passcode: Passcode(copying: Self.passcode))
                    try await vault.checkRecoveryKey(key)
                    _ = try await vault.migrateStorage(to: .secretService)
                    try await vault.checkRecoveryKey(key)
                    vault.close()
                    try await service.removeItems()
                    _ = try await VaultRecovery(of: temporary.location, with: key)
                }
            }
        }
    }
#endif
