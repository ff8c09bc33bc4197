// snippet: notesApp
import Coffer
import CofferDatabase
import GRDB

struct NotesApp {
    let vault: Vault
    let databases: VaultDatabases
    let events: AsyncStream<VaultEvent>
    let id: TokenID

    init(_ vault: Vault) throws {
        self.vault = vault
        databases = VaultDatabases(vault)
        events = vault.events
        id = try TokenID(service: "notes.example.org", account: "ada")
    }

    func signIn(_ key: String) async throws { try await vault.tokens.set(key, for: id) }
    func key() async throws -> String? { try await vault.tokens[id]?.string }

    func add(_ text: String, attaching path: String) async throws -> [String] {
        let file = try await vault.files.add(contentsOf: path)
        return try await databases.pool("notes").write { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS note (text TEXT, file TEXT)")
            try db.execute(sql: "INSERT INTO note VALUES (?, ?)", arguments: [text, file.description])
            return try String.fetchAll(db, sql: "SELECT text FROM note ORDER BY rowid")
        }
    }

    func whyLocked() async -> String? {
        for await event in events {
            switch event.kind {
            case .locked, .closed: return "locked: \(event.reason?.rawValue ?? "closed")"
            case .wiped: return "erased"
            default: continue
            }
        }
        return nil
    }
}
// snippet end

extension NotesApp {
    /// Needs a terminal: compiled, not run.
    static func start() async throws {
        // snippet: notesMain
        let vault = try await Vault.openOrCreate(at: .default(for: "notes")) { isNew in
            try isNew ? .readNewFromTerminal() : .readFromTerminal()
        }
        await vault.observeLockTriggers()
        let app = try NotesApp(vault)
        let report = Task { print(await app.whyLocked() ?? "ended") }
        try await app.signIn("the key as the server sent it")
        print(try await app.add("call the harbour", attaching: "/etc/hostname"))
        vault.lock()
        await report.value
        // snippet end
    }
}
