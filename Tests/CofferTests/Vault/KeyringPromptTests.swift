#if SecretService
    import Coffer
    import CofferBase
    import CofferTesting
    import TestSupport
    import Testing

    /// The owner's decision about questions, on a service that answers them.
    @Suite("The setting for the keyring's questions", .enabled { await FakeSecretService.isPossible() })
    struct KeyringPromptTests {
        @Test("Opening a vault as set lets the keyring ask only if the owner allows it")
        func asSet() async throws {
            try await FakeSecretService.with { service in
                let home = try TestHome()
                let location = VaultLocation(path: home.location.path, sessionBus: service.address)
                let right = try Passcode(copying: "2468")
                let wrong = try Passcode(copying: "1357")
                let vault = try await Vault.create(
                    at: location, options: TestHome.options { $0.keyring = .secretService }, passcode: right)
                func opening(_ policy: PromptPolicy) async throws -> CofferError.Code? {
                    try await service.lock()
                    let code = await refusal { _ = try await Vault(at: location, interaction: policy) }?.code
                    try await service.lock(false)
                    return code
                }
                #expect(try await vault.allowsKeyringPrompts() == false)
                #expect(try await opening(.asSet) == .keyringLocked)
                for (passcode, code) in [(nil, .locked), (wrong, .wrongPasscode)]
                    as [(Passcode?, CofferError.Code)]
                {
                    let refused = await refusal {
                        try await vault.setKeyringPrompts(true, passcode: passcode)
                    }
                    #expect(refused?.code == code)
                }
                #expect(try await opening(.asSet) == .keyringLocked)
                #expect(try await service.promptCount() == 0)

                try await vault.setKeyringPrompts(true, passcode: right)
                #expect(try await vault.allowsKeyringPrompts())
                #expect(try await opening(.never) == .keyringLocked)
                #expect(try await service.promptCount() == 0)
                #expect(try await opening(.asSet) == nil)
                #expect(try await service.promptCount() == 1)

                try await vault.setKeyringPrompts(false)
                #expect(try await opening(.asSet) == .keyringLocked)
                #expect(try await service.promptCount() == 1)
            }
        }
    }
#endif
