import Coffer
import CofferBase
import CofferTesting
import Testing

/// The code of the article on testing: what stands between the markers is printed there word for word.
@Suite("Documents: tests of consumers")
struct TestingGuide {
    @Test("A vault, a clock and a fault")
    func faults() async throws {
        // snippet: testingFaults
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
            try await temporary.vault.tokens.put(Token(copying: "old"), for: id)

            // The answer to the next change gets lost: it was made all the same.
            temporary.faults.fail(.afterCommit, with: CofferError(.interrupted, "The keyring went away."))
            await #expect(throws: CofferError.self) {
                try await temporary.vault.tokens.put(Token(copying: "new"), for: id)
            }
            #expect(try await temporary.vault.tokens.info(for: id)?.version == 2)

            // Another process locks when the user has been away for long.
            let other = try await temporary.openAnother()
            try await other.unlock(with: Passcode(copying: "2468"))
            temporary.clock.advance(by: .seconds(601))
            #expect(!other.isUnlocked)
        }
        // snippet end
    }

    @Test("A Secret Service that obeys", .enabled { await FakeSecretService.isPossible() })
    func service() async throws {
        // snippet: testingService
        try await FakeSecretService.with { service in
            try await TemporaryVault.with(service: service) { temporary in
                let id = try TokenID(service: "api.example.org", account: "ada")
                try await temporary.vault.tokens.put(Token(copying: "secret"), for: id)

                // The user closes the question for the keyring's password.
                try await service.lock()
                try await service.answerPrompts(.dismissed)
                let asking = await #expect(throws: CofferError.self) {
                    _ = try await temporary.openAnother(interaction: .allowed)
                }
                #expect(asking?.code == .promptDismissed)

                // The service dies while it reads, and comes back.
                try await service.lock(false)
                try await service.injectFault(.getSecret, .before, .crashes)
                let dead = await #expect(throws: CofferError.self) {
                    _ = try await temporary.vault.tokens.withToken(for: id) { token, _ in token.count }
                }
                #expect(dead?.code == .interrupted)
                try await service.restart()
                #expect(try await temporary.vault.tokens.withToken(for: id) { token, _ in token.count } == 6)
            }
        }
        // snippet end
    }
}
