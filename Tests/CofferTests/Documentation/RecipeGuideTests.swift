import Coffer
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Runs the service of the article on recipes.
@Suite("Documents: the service of the recipes")
struct RecipeGuideTests {
    @Test("The service unlocks with systemd's credential, renews its token and reads it behind the lock")
    func service() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let credentials = scratch.path
        try scratch.write("passcode", Array("2468\n".utf8))
        var options = VaultOptions()
        options.cost = .floor
        // Under a sanitizer, among a thousand other tests, this one may take long.
        options.inactivity = .seconds(86_400)
        let owner = try await Vault.create(
            at: location, options: options, passcode: Passcode(copying: "2468"))
        let id = try TokenID(service: "api.example.org", account: "hello")
        try await owner.tokens.put(Token(copying: "old"), for: id, class: .afterFirstUnlockThisDeviceOnly)
        owner.close()

        let service = try await HelloService(at: location, credentials: credentials)
        #expect(try await service.authorization() == "Bearer old")
        try await service.renew { _ in try Token(copying: "new") }
        #expect(try await service.authorization() == "Bearer new")
        service.vault.lock()
        #expect(try await service.authorization() == "Bearer new")
        service.vault.close()

        try scratch.write("passcode", Array("1357\n".utf8))
        let wrong = await #expect(throws: CofferError.self) {
            _ = try await HelloService(at: location, credentials: credentials)
        }
        #expect(wrong?.code == .wrongPasscode)
    }
}
