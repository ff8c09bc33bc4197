@testable import Coffer
import CofferBase
import CofferCrypto
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Exports into a vault's own directory")
struct AtomicFileTests {
    private let home: TestHome
    private let content: [UInt8] = [1, 2, 3]

    init() throws {
        home = try TestHome()
        try home.scratch.write("device", content)
    }

    private func add(to vault: Vault) async throws -> FileID {
        try await vault.files.add(contentsOf: home.scratch.path.appending("device"))
    }

    /// Expects that neither the file nor the tokens are exported to `path`.
    private func expectRefusal(_ vault: Vault, _ id: FileID, _ path: FilePath) async throws {
        for replacing in [false, true] {
            let error = await refusal { try await vault.files.export(id, to: path, replacing: replacing) }
            #expect(error?.code == .refused && error?.message.contains("outside") == true, "\(path)")
        }
        let passphrase = try Passcode(copying: "a passphrase of an export")
        let error = await refusal {
            _ = try await vault.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        }
        #expect(error?.code == .refused && error?.message.contains("outside") == true, "\(path)")
    }

    private func putToken(_ vault: Vault) async throws {
        try await vault.tokens.put(
            Token(copying: "x"), for: TokenID(service: "s", account: "a"), class: .whenUnlocked)
    }

    @Test("They are refused under any path, and change nothing")
    func anyPath() async throws {
        let vault = try await home.create()
        try await putToken(vault)
        let id = try await add(to: vault)
        let scratch = home.scratch.path
        try home.scratch.link("link", to: home.location.path.string)
        let before = try home.everything()
        for path in [
            home.path("device"), home.path("new"), home.path("files/new"), home.homePath("state"),
            home.homePath("new"), scratch.appending("link/vault/keybag"), scratch.appending("link/new"),
            FilePath(scratch.string + "/../" + (scratch.lastComponent?.string ?? "") + "/home/vault/device"),
        ] {
            try await expectRefusal(vault, id, path)
        }
        #expect(try home.everything() == before)
        // A file beside the vault is replaced, also by a path that leaves the vault again.
        let target = home.scratch.path.appending("target")
        try home.scratch.write("target", [9])
        let around = FilePath(home.location.path.string + "/vault/../../target")
        try await vault.files.export(id, to: around, replacing: true)
        #expect(try home.scratch.read("target") == content)
        #expect(await refusal { try await vault.files.export(id, to: target) }?.code == .alreadyExists)
    }

    @Test("A user's vault and the vault around it refuse each other's directories")
    func namespaces() async throws {
        let vault = try await home.create()
        let location = try home.location.namespace(of: "ada")
        let user = try await Vault.create(
            at: location, options: TestHome.options { _ in }, passcode: nil)
        try await putToken(vault)
        try await putToken(user)
        let id = try await add(to: vault)
        let own = try await add(to: user)
        let before = try home.everything()
        for path in [home.path("device"), home.homePath("new"), home.homePath("users/new")] {
            try await expectRefusal(user, own, path)
        }
        for path in [location.path.appending("vault/device"), location.path.appending("new")] {
            try await expectRefusal(user, own, path)
            try await expectRefusal(vault, id, path)
        }
        #expect(try home.everything() == before)
    }
}
