import Coffer
import CofferDatabase
import GRDB
import SystemPackage
import Testing
import TestSupport

/// Runs the app of the article, and compares it with the article.
@Suite("Documents: an app in forty lines")
struct NotesAppTests {
    @Test("The app keeps a token, files and a database, and its vault locks them")
    func runs() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let passcode = try Passcode(copying: "2468")
        try scratch.write("attachment", Array("hidden".utf8))
        let attachment = scratch.path(of: "attachment")

        let first = try await NotesApp(Vault.openOrCreate(at: location, passcode: passcode))
        #expect(try await first.key() == nil)
        try await first.signIn("the key")
        #expect(try await first.add("call the harbour", attaching: attachment) == ["call the harbour"])
        first.vault.close()

        let app = try await NotesApp(Vault.openOrCreate(at: location, passcode: passcode))
        #expect(app.vault.vaultID == first.vault.vaultID)
        #expect(try await app.key() == "the key")
        let pool = try await app.databases.pool("notes")
        #expect(try await app.add("buy paint", attaching: attachment) == ["call the harbour", "buy paint"])
        let file = try #require(
            try await pool.read { try String.fetchOne($0, sql: "SELECT file FROM note LIMIT 1") })
        let content = try await app.vault.files.withDecryptedBytes(of: FileID(file)) { bytes in
            bytes.indices.map { bytes[$0] }
        }
        #expect(content == Array("hidden".utf8))

        app.vault.lock()
        #expect(await app.whyLocked() == "locked: asked")
        for refused in [
            await code { _ = try await app.key() },
            await code { _ = try await app.add("late", attaching: attachment) },
            await code { _ = try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") } },
        ] {
            #expect(refused == .locked)
        }
        try await app.vault.unlock(with: passcode)
        #expect(try await app.add("again", attaching: attachment).count == 3)
    }

    /// The code of the error that an app gets, from the vault or through GRDB.
    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return EncryptedDatabase.failure(error).code
        }
    }

    @Test("The article prints the app that was compiled, in forty lines or fewer")
    func printed() throws {
        let article = "Sources/CofferDatabase/CofferDatabase.docc/AnAppInFortyLines.md"
        let shown = try Snippets.shown(in: article)
        let compiled = try Snippets.compiled(in: ["Tests/CofferDatabaseTests/Documentation/NotesApp.swift"])
        #expect(try shown.count == compiled.count && Snippets.blockCount(in: article) == shown.count + 1)
        for (name, text) in shown {
            let snippet = try #require(compiled[name], "There is no snippet \(name).")
            // Here the code of main.swift is in a function, which cannot import.
            let imports = name == "notesMain" ? ["import Coffer", ""] : []
            #expect(text == imports + snippet, "The article shows another \(name).")
        }
        #expect(compiled["notesApp"].map { $0.count <= 40 } == true)
    }
}
