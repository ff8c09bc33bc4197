// snippet: testingClient
import Coffer
import CofferTesting
import Testing

@Suite("The client")
struct APIClientTests {
    @Test("Its token is locked with the vault after ten minutes without use")
    func lock() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let client = try APIClient(temporary.vault, account: "ada")
            try await temporary.vault.tokens.set("secret", for: client.id)
            #expect(try await client.authorization() == "Bearer secret")

            temporary.clock.advance(by: .seconds(601))
            let refused = await #expect(throws: CofferError.self) {
                _ = try await client.authorization()
            }
            #expect(refused?.code == .locked)

            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            #expect(try await client.authorization() == "Bearer secret")
        }
    }
}
// snippet end
