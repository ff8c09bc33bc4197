#if SecretService
    import Coffer
    import CofferBase
    import CofferTesting
    import Foundation
    import SystemPackage
    import TestSupport
    import Testing

    /// The remedies tell users to put a backup in the place of the vault directory. While it is away, nothing
    /// that the vault still needs may be cleaned up.
    @Suite("A vault that is moved away for a while", .enabled { await FakeSecretService.isPossible() })
    struct MovedVaultTests {
        @Test("Its device key and tokens stay in the Secret Service, and it opens when it is back")
        func movedAway() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(passcode: "correct horse", service: service) { temporary in
                    let id = try TokenID(service: "api.example.org", account: "ada")
                    try await temporary.vault.tokens.put(Token(copying: "kept"), for: id)
                    let place = temporary.location.path.appending("vault").string
                    try FileManager.default.moveItem(atPath: place, toPath: place + ".away")
                    let error = await refusal { _ = try await temporary.openAnother() }
                    #expect(error?.code == .notInitialised && error?.remedy == .returnOrCreateVault)
                    try FileManager.default.moveItem(atPath: place + ".away", toPath: place)
                    let back = try await temporary.openAnother()
                    try await back.unlock(with: Passcode(copying: "correct horse"))
                    #expect(try await back.tokens.get(id)?.token.exposingString { $0 } == "kept")
                }
            }
        }
    }
#endif
