import Coffer
import CofferBase
import CofferTesting
import Testing

/// The faults that consumers' tests let a vault have.
@Suite("CofferTesting: faults")
struct TestFaultsTests {
    private func id() throws -> TokenID { try TokenID(service: "s", account: "a") }

    @Test("Reading fails as often as the fault says")
    func readingFailsAsOftenAsSaid() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            try await tokens.put(Token(copying: "x"), for: id())
            temporary.faults.fail(.reading, with: CofferError(.timedOut, "Late."), times: 2)
            #expect(await refusal { _ = try await tokens.info(for: id()) }?.code == .timedOut)
            #expect(await refusal { _ = try await tokens.list() }?.code == .timedOut)
            #expect(try await tokens.count() == 1)
            temporary.faults.fail(.reading, with: CofferError(.timedOut, "Late."), times: 2)
            temporary.faults.clear()
            #expect(try await tokens.info(for: id())?.version == 1)
        }
    }

    @Test("Reading a cached token fails as well")
    func readingACachedTokenFails() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            try await tokens.put(Token(copying: "x"), for: id())
            #expect(try await tokens.withToken(for: id()) { _, _ in true } == true)
            temporary.faults.fail(.reading, with: CofferError(.timedOut, "Late."))
            let failed = await refusal { _ = try await tokens.withToken(for: id()) { _, _ in true } }
            #expect(failed?.code == .timedOut)
            #expect(try await tokens.withToken(for: id()) { _, _ in true } == true)
        }
    }

    @Test("Changes fail before or after they are made")
    func changesFailBeforeOrAfterTheyAreMade() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            let full = CofferError(.noSpace, "Full.")
            temporary.faults.fail(.changing, with: full)
            #expect(await refusal { try await tokens.put(Token(copying: "x"), for: id()) }?.code == .noSpace)
            #expect(try await tokens.count() == 0)
            temporary.faults.fail(.afterCommit, with: CofferError(.interrupted, "Gone."))
            #expect(
                await refusal { try await tokens.put(Token(copying: "x"), for: id()) }?.code == .interrupted)
            #expect(try await tokens.count() == 1)
            // Another session is not concerned.
            temporary.faults.fail(.reading, with: full, times: .max)
            let other = try await temporary.openAnother()
            #expect(try await other.tokens.count() == 1)
            #expect(await refusal { _ = try await tokens.count() }?.code == .noSpace)
        }
    }

    @Test("A failed refresh keeps the old token")
    func aRefreshThatFailsKeepsTheOldToken() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            try await tokens.put(Token(copying: "old"), for: id())
            temporary.faults.fail(.changing, with: CofferError(.inputOutput, "Broken."))
            let failed = await refusal {
                _ = try await tokens.refresh(id(), deadline: .seconds(120)) {
                    (_, _) async throws(CofferError) in RefreshResponse(try Token(copying: "new"))
                }
            }
            #expect(failed?.code == .inputOutput)
            let kept = try await tokens.withToken(for: id()) { token, _ in token.exposing { $0.count } }
            #expect(kept == 3)
        }
    }
}
