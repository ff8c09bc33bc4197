@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// One namespace that cannot be erased keeps none of the others, nor the home around it.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite("Wipes of several namespaces", .serialized)
struct NamespaceWipeTests {
    private let manager = FileManager.default

    private func namespaces(of home: TestHome, _ users: [String]) async throws -> [String: VaultID] {
        var made: [String: VaultID] = [:]
        for user in users {
            let session = try await Vault.create(
                at: home.location.namespace(of: user), options: TestHome.options { _ in }, passcode: nil)
            if KernelKeyring.isAvailable { try await session.cacheKeysInKernel() }
            made[user] = session.vaultID
        }
        return made
    }

    private func path(_ user: String, of home: TestHome) throws -> String {
        try home.location.namespace(of: user).path.string
    }

    private func keys(in home: TestHome) throws -> [String] {
        try home.everything().keys.filter { $0.hasSuffix("/device") || $0.hasSuffix("/keybag") }.sorted()
    }

    @Test("A wipe removes namespaces with open modes or a damaged state like the others")
    func modes() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let made = try await namespaces(of: home, ["ada", "bob", "eve", "kim"])
        for (user, mode) in [("ada", 0o770), ("bob", 0o777)] {
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path(user, of: home))
        }
        try Data([1, 2, 3]).write(to: URL(filePath: path("eve", of: home) + "/state"))
        let receipt = try await session.wipe()
        #expect(receipt.removed["namespaces"] == 4 && receipt.failures.isEmpty)
        #expect(try keys(in: home).isEmpty)
        for id in made.values { #expect(!KernelKeyCache.isAnyLeft(vaultID: id)) }
    }

    @Test(
        "A namespace that resists is named, blocks nothing, and is finished at the next opening",
        .enabled(if: TestUser.isRoot, "only root can give a directory away"))
    func stubborn() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let made = try await namespaces(of: home, ["ada", "bob", "eve"])
        let stubborn = try path("bob", of: home)
        try manager.setAttributes([.ownerAccountID: TestUser.nobody], ofItemAtPath: stubborn)
        let wipe = session.startWipe()
        let error = await refusal { _ = try await wipe.receipt }
        #expect(error?.code == .refused && error?.message.contains("users/") == true)
        let receipt = try #require(await wipe.partialReceipt)
        #expect(receipt.failures.count == 1 && receipt.removed["namespaces"] == 2)
        let left = try keys(in: home)
        #expect(left.count == 2 && left.allSatisfy { $0.contains("/vault/") && !$0.hasPrefix("vault/") })
        for user in ["ada", "eve"] { #expect(try !KernelKeyCache.isAnyLeft(vaultID: #require(made[user]))) }
        try manager.setAttributes([.ownerAccountID: 0], ofItemAtPath: stubborn)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(try keys(in: home).isEmpty)
        #expect(try !KernelKeyCache.isAnyLeft(vaultID: #require(made["bob"])))
    }

    @Test("A wipe names a namespace that no longer shows a vault", arguments: ["link", "renamed"])
    func unknown(_ damage: String) async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let made = try await namespaces(of: home, ["ada", "bob"])
        let path = try path("bob", of: home)
        let aside = home.scratch.path(of: "aside")
        try manager.removeItem(atPath: path + "/state")
        try manager.moveItem(atPath: path + "/vault", toPath: damage == "renamed" ? path + "/vaultx" : aside)
        if damage == "link" {
            try manager.createSymbolicLink(atPath: path + "/vault", withDestinationPath: aside)
        }
        let wipe = session.startWipe()
        _ = await refusal { _ = try await wipe.receipt }
        let receipt = try #require(await wipe.partialReceipt)
        #expect(receipt.removed["namespaces"] == 1)
        let name = String(try #require(path.split(separator: "/").last))
        #expect(receipt.failures.contains { $0.contains(name) } == (damage == "link"))
        #expect(receipt.unverified.contains { $0.contains(name) } == (damage == "renamed"))
        for vaultID in made.values { KernelKeyCache.remove(vaultID: vaultID, all: true) }
    }

    @Test("An error about several remains in one namespace explains only once how to continue")
    func words() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        _ = try await namespaces(of: home, ["ada"])
        let path = try path("ada", of: home)
        try manager.moveItem(atPath: path + "/vault", toPath: home.scratch.path(of: "aside"))
        try manager.createSymbolicLink(
            atPath: path + "/vault", withDestinationPath: home.scratch.path(of: "aside"))
        let message = await refusal { _ = try await session.wipe() }?.message ?? ""
        #expect(message.components(separatedBy: "wipe again").count == 2, "\(message)")
    }

    @Test("One user's namespace is wiped even if neither its state nor the home's is readable")
    func user() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let made = try await namespaces(of: home, ["ada", "bob"])
        let paths = [try path("ada", of: home), home.location.path.string]
        for path in paths { try Data([1, 2, 3]).write(to: URL(filePath: path + "/state")) }
        let receipt = try await Vault.wipe(.user("ada"), at: home.location)
        #expect(receipt.vaultID == made["ada"]?.uuid && receipt.failures.isEmpty)
        #expect(try keys(in: home).count == 4)
        #expect(
            await refusal { _ = try await Vault.wipe(.user("eve"), at: home.location) }?.code == .corrupt)
        _ = try await Vault.wipe(at: home.location)
        #expect(try keys(in: home).isEmpty)
        _ = session
    }

    @Test("A link among the namespaces is not followed")
    func links() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let other = try TestHome()
        _ = try await other.create("other")
        _ = try await namespaces(of: home, ["ada"])
        let before = try other.everything()
        try manager.createSymbolicLink(
            atPath: home.location.path.string + "/users/" + String(repeating: "a", count: 32),
            withDestinationPath: other.location.path.string)
        let receipt = try await Vault.wipe(at: home.location)
        #expect(receipt.removed["namespaces"] == 1)
        #expect(try other.everything() == before)
        _ = try await Vault.wipe(at: other.location)
    }

    @Test("A link in the place of a namespace is not followed, blocks nothing and is named")
    func link() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        _ = try await namespaces(of: home, ["ada", "bob"])
        let (ada, moved) = (try path("ada", of: home), home.scratch.path(of: "moved"))
        try manager.moveItem(atPath: ada, toPath: moved)
        try manager.createSymbolicLink(atPath: ada, withDestinationPath: moved)
        let receipt = try await session.wipe()
        #expect(receipt.unverified.contains { $0.contains("users/") && $0.contains("link") })
        #expect(manager.fileExists(atPath: moved + "/vault/keybag"))
        #expect(try keys(in: home).isEmpty)
    }
}
