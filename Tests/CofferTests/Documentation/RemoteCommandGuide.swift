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

    // snippet: receiveCommand
    static func receive(_ bytes: [UInt8], for vault: Vault) async -> String {
        do throws(CofferError) {
            let verified = try await vault.verify(SignedCommand.read(bytes))
            if case .wiped(let receipt) = try await vault.execute(verified) {
                return "erased: \(receipt.reason)"
            }
            return "carried out"
        } catch {
            return "not carried out: \(error.message)"
        }
    }
    // snippet end

    @Test("The receiver's function refuses noise, and carries a command out")
    func received() async throws {
        let home = try TestHome()
        let vault = try await home.create("2468")
        let seed = try SymmetricKey.random()
        try await vault.pinAdministratorKey(AdministratorKey(of: seed), label: "the office")
        let refusal = await Self.receive(Array("noise".utf8), for: vault)
        #expect(refusal.utf8.starts(with: "not carried out: ".utf8))
        let command = RemoteCommand(
            .wipe(.all), for: .vault(vault.vaultID.uuid), counter: 7, issued: Date(), expires: Date() + 60,
            reason: "lost on a train")
        let bytes = try command.signed(by: seed)
        #expect(await Self.receive(bytes, for: vault) == "erased: lost on a train")
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }
}
