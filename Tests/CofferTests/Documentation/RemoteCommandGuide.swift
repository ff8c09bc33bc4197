import Coffer
import CofferCrypto
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The code of the article on remote commands: the article prints the lines between the markers word for
/// word.
@Suite("Documents: remote commands")
struct RemoteCommandGuide {
    @Test("A command of the administrator whose key the owner pinned erases the vault")
    func wipe() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        var options = VaultOptions()
        options.cost = .floor
        let vault = try await Vault.create(
            at: location, options: options, passcode: Passcode(copying: "2468"))
        let seed = try SymmetricKey.random()
        let text = try AdministratorKey(of: seed).description
        let vaultID = vault.vaultID.uuid

        // snippet: pinKey
        try await vault.pinAdministratorKey(AdministratorKey(hex: text), label: "the office")
        // snippet end

        // snippet: signCommand
        let command = RemoteCommand(
            .wipe(.all), for: .vault(vaultID), counter: 7, issued: Date(), expires: Date() + 86_400,
            reason: "lost on a train")
        let bytes = try command.signed(by: seed)
        // snippet end

        // snippet: executeCommand
        let verified = try await vault.verify(SignedCommand.read(bytes))
        let outcome = try await vault.execute(verified)
        // snippet end

        guard case .wiped(let receipt) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(receipt.reason == "lost on a train")
        #expect(verified.content.counter == 7)
        #expect(try await Vault.status(at: location).state == .wiped)
    }
}
