import Coffer
import CofferDatabase
import CofferTesting
import GRDB
import SystemPackage
import Testing
import TestSupport

/// Runs the code of the article on the first database, and compares it with the article.
@Suite("Documents: the article on the first database")
struct DatabaseGuideTests {
    private let texts = "SELECT text FROM note ORDER BY id"

    @Test("The article's code runs on a file, from its first table to its next key")
    func file() async throws {
        let scratch = try ScratchDirectory.make()
        let (path, copy) = (scratch.path.appending("own.db"), scratch.path.appending("copy.db"))
        let key = try DatabaseGuide.random()
        let newKey = try DatabaseGuide.passphrase()
        let pool = try DatabaseGuide.pool(path, key)
        #expect(try await DatabaseGuide.migrate(pool) == ["call the harbour"])
        try DatabaseGuide.copy(pool, to: copy)
        try pool.close()
        try DatabaseGuide.rekey(DatabaseGuide.queue(path, key), path, key, newKey)
        #expect(try await DatabaseGuide.migrate(DatabaseGuide.queue(path, newKey)).count == 2)
        DatabaseGuide.errors(copy, key)
        #expect(try await DatabaseGuide.queue(copy, key).read { try String.fetchAll($0, sql: texts) } == [])
        #expect(DatabaseGuide.busy().journalMode == .default)
    }

    @Test("The article's code backs up, restores and extends a vault's database")
    func vault() async throws {
        let scratch = try ScratchDirectory.make()
        let (path, old) = (scratch.path.appending("backup.db"), scratch.path.appending("old.db"))
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let notes = try await DatabaseGuide.vault(temporary.vault)
            _ = try await DatabaseGuide.migrate(notes)
            let key = try await DatabaseGuide.raw(temporary.vault)
            try DatabaseGuide.backup(notes, path, key)
            let oldKey = try DatabaseGuide.sqlcipher()
            _ = try await DatabaseGuide.migrate(DatabaseGuide.queue(old, oldKey))
            let new = scratch.path.appending("new.db")
            try DatabaseGuide.convert(old, oldKey, to: new, key)
            try await DatabaseGuide.attach(new, key, to: notes)
            #expect(try await notes.read { try String.fetchAll($0, sql: texts).count } == 2)

            let databases = VaultDatabases(temporary.vault)
            let restored = try await DatabaseGuide.restore(path, key, databases)
            #expect(try await restored.read { try String.fetchAll($0, sql: texts).count } == 1)
        }
    }

    @Test("The article prints the code that was compiled, apart from the package description")
    func printed() throws {
        let article = "Sources/CofferDatabase/CofferDatabase.docc/YourFirstEncryptedDatabase.md"
        let shown = try Snippets.shown(in: article)
        let guide = "Tests/CofferDatabaseTests/Documentation/DatabaseGuide.swift"
        let compiled = try Snippets.compiled(in: [guide])
        #expect(try shown.count == compiled.count && Snippets.blockCount(in: article) == shown.count + 1)
        for (name, text) in shown {
            let snippet = try #require(compiled[name], "There is no snippet \(name).")
            #expect(text == snippet, "The article shows another \(name).")
        }
    }
}
