import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Scopes of a wipe")
struct WipeScopeTests {
    private static let value = "a value that only one user knows"

    private func token(_ account: String = "ada lovelace") throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func namespace(_ user: String, of home: TestHome) async throws -> Vault {
        let session = try await Vault.create(
            at: home.location.namespace(of: user), options: TestHome.options { _ in },
            passcode: Passcode(copying: "of \(user)"))
        try await session.tokens.put(Token(copying: Self.value + user), for: token())
        return session
    }

    @Test("A wipe of the tokens leaves everything else")
    func tokensAloneGoAndTheRestStays() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        for account in ["ada lovelace", "bob the builder"] {
            try await session.tokens.put(Token(copying: Self.value), for: token(account))
        }
        try await session.tokens.put(Token(copying: "volatile"), for: token("eve"), isEphemeral: true)
        try home.scratch.write("letter", Array("a letter".utf8))
        let file = try await session.files.add(contentsOf: home.scratch.path.appending("letter"))
        // A database's key stands among the tokens, and its file in the vault.
        let key = try DatabaseKeyNaming.id("user", "drafts")
        try await session.tokens.putReserved(
            Token(copying: "the key of a database"), for: key, class: .whenUnlockedThisDeviceOnly)
        let directory = session.vaultDirectory.pushing(DatabaseKeyNaming.directory)
        try FileManager.default.createDirectory(
            atPath: directory.string, withIntermediateDirectories: false)
        #expect(
            FileManager.default.createFile(
                atPath: directory.appending(DatabaseKeyNaming.file("user", "drafts")).string, contents: Data()
            ))
        let old = try home.read("tokens")

        let receipt = try await session.wipe(.tokens, reason: "logout")
        #expect(receipt.scope == "tokens" && receipt.removed["tokens"] == 2)
        #expect(session.isUnlocked)
        #expect(try await session.tokens.list().map(\.id) == [key])
        #expect(
            try await session.tokens.withToken(for: key) { token, _ in token.exposing { $0.count } } == 21)
        #expect(try await session.files.withDecryptedBytes(of: file) { $0.count } == 8)
        #expect(try home.occurrences(of: Array(old.suffix(32))) == 0)
        // And it goes on.
        #expect(try await session.tokens.put(Token(copying: "new"), for: token()) == .stored(version: 1))
        #expect(try await home.unlocked("correct horse").tokens.count() == 2)
    }

    @Test("Tokens are wiped while locked and despite a damaged file")
    func tokensAreWipedWhileLockedAndWithTheirFileDamaged() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try await session.tokens.put(Token(copying: Self.value), for: token())
        session.lock()
        // One that waits for an unlock.
        try await session.tokens.put(Token(copying: Self.value), for: token("bob the builder"))
        try home.write("tokens", [1, 2, 3])
        let receipt = try await Vault.wipe(.tokens, at: home.location)
        #expect(receipt.removed["tokens"] == 1)
        let created = try await home.unlocked("correct horse")
        #expect(try await created.tokens.list().isEmpty)
        #expect(try await created.tokens.pendingTokens().pending == 0)
    }

    /// Power failed after the mark was written: no token can be read, and the next open finishes the wipe.
    @Test("The next opening finishes an interrupted wipe of tokens")
    func anInterruptedWipeOfTokensIsFinished() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try await session.tokens.put(Token(copying: Self.value), for: token())
        try VaultStateFile(phase: .wipingTokens, vaultID: session.vaultID).write(
            in: home.directory().directory)
        #expect(
            await refusal { _ = try await session.tokens.withToken(for: token()) { _, _ in } }?.code == .busy)
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: token()) }?.code == .busy)
        session.lock()
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: token()) }?.code == .busy)
        let created = try await home.unlocked("correct horse")
        #expect(try await created.tokens.list().isEmpty)
        #expect(try await session.tokens.count() == 0)
    }

    @Test("A wipe of one user's namespace leaves the others and the home")
    func aNamespaceGoesAlone() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try await session.tokens.put(Token(copying: Self.value), for: token())
        let ada = try await namespace("ada lovelace", of: home)
        let bob = try await namespace("bob the builder", of: home)
        #expect(ada.vaultID != bob.vaultID)
        for name in ["ada lovelace", "bob the builder"] {
            #expect(try home.occurrences(of: Array(name.utf8)) == 0)
        }
        let receipt = try await session.wipe(.user("ada lovelace"), reason: "logout")
        #expect(receipt.scope == "user" && receipt.vaultID == ada.vaultID.uuid)
        #expect(await refusal { _ = try await ada.tokens.list() }?.code == .wiped)
        #expect(await refusal { _ = try await session.wipe(.user("ada lovelace")) }?.code == .wiped)
        #expect(await refusal { _ = try await session.wipe(.user("eve")) }?.code == .notInitialised)
        #expect(await refusal { _ = try await session.wipe(.user("")) }?.code == .invalidInput)
        #expect(try await bob.tokens.count() == 1)
        #expect(try await session.tokens.count() == 1)
        // The user comes back.
        #expect(try await namespace("ada lovelace", of: home).tokens.count() == 1)
    }

    @Test("A wipe of the home erases its namespaces")
    func namespacesGoWithTheHome() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let ada = try await namespace("ada lovelace", of: home)
        let inside = try home.location.namespace(of: "ada lovelace")
        #expect(throws: CofferError.self) { try inside.namespace(of: "bob the builder") }
        let receipt = try await session.wipe()
        #expect(receipt.removed["namespaces"] == 1)
        #expect(await refusal { _ = try await ada.tokens.list() }?.code == .wiped)
        #expect(await refusal { _ = try await Vault(at: inside) }?.code == .wiped)
        let left = try home.everything().keys.map { FilePath($0).lastComponent?.string ?? "" }
        #expect(Set(left) == ["lock", "receipt.json", "state"])
        _ = try await home.create("created")
        #expect(try !home.everything().keys.contains { $0.hasPrefix("users/") })
    }

    @Test("Opening a namespace finishes an interrupted wipe of the home")
    func openingANamespaceFinishesTheWipeOfTheHome() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        _ = try await namespace("ada lovelace", of: home)
        let inside = try home.location.namespace(of: "ada lovelace")
        try VaultStateFile(phase: .wiping, vaultID: session.vaultID).write(in: home.directory().directory)
        #expect(await refusal { _ = try await Vault(at: inside) }?.code == .wiped)
        #expect(try !home.everything().keys.contains { $0.contains("vault/") })
    }
}
