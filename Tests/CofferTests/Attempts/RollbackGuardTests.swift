#if SecretService
    @testable import Coffer
    import CofferBase
    import CofferTesting
    import TestSupport
    import Testing

    /// A Secret Service that does not take the count of attempts: nothing is tried, nothing counted, and
    /// nothing erased.
    @Suite("Attempts without their rollback guard", .enabled { await FakeSecretService.isPossible() })
    struct RollbackGuardTests {
        private func left(_ temporary: TemporaryVault) throws -> Int {
            try temporary.vault.core.readAttempts().attemptsLeft
        }

        @Test("Ten right passcodes that the service refuses to record erase nothing")
        func refused() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: "correct horse", service: service) { temporary in
                    let session = try await temporary.openAnother()
                    for number in 1...12 {
                        // The first attempt of all makes the item.
                        try await service.injectFault(.createItem, .before, .fails("org.example.Refused"))
                        try await service.injectFault(.setSecret, .before, .fails("org.example.Refused"))
                        #expect(await refusal(of: "correct horse", by: session) != nil, "\(number)")
                        #expect(try left(temporary) == 10)
                    }
                    try await service.restart()
                    #expect(
                        await refusal(of: "wrong", by: try await temporary.openAnother())?.attemptsLeft == 9)
                    try await temporary.openAnother().unlock(with: Passcode(copying: "correct horse"))
                    #expect(try left(temporary) == 10)
                }
            }
        }

        @Test("A locked keyring costs no attempt")
        func locked() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: "correct horse", service: service) { temporary in
                    let session = try await temporary.openAnother()
                    try await service.lock()
                    for _ in 1...12 {
                        #expect(await refusal(of: "correct horse", by: session)?.code == .keyringLocked)
                    }
                    try await service.lock(false)
                    try await session.unlock(with: Passcode(copying: "correct horse"))
                    #expect(try left(temporary) == 10)
                }
            }
        }

        /// The service takes the proof that it can be written, and then not the count.
        @Test("Right passcodes between the count and its record erase nothing and open afterwards")
        func died() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: "correct horse", service: service) { temporary in
                    #expect(
                        await refusal(of: "wrong", by: try await temporary.openAnother())?.attemptsLeft == 9)
                    for number in 1...12 {
                        let passcode = number % 2 == 0 ? "wrong \(number)" : "correct horse"
                        let session = try await temporary.openAnother()
                        try await service.injectFault(
                            .setSecret, number % 3 == 0 ? .after : .before, .crashes, afterCalls: 1)
                        let error = await refusal(of: passcode, by: session)
                        #expect(error != nil && error?.code != .wiped, "\(number)")
                        try await service.restart()
                    }
                    // No false alarm: the counter is never behind what the service knows.
                    let session = try await temporary.openAnother()
                    #expect(await refusal(of: "wrong 99", by: session)?.code == .wrongPasscode)
                    try await temporary.openAnother().unlock(with: Passcode(copying: "correct horse"))
                    #expect(try left(temporary) == 10)
                }
            }
        }
    }
#endif
