// snippet: notesApp
import Coffer
import CofferDatabase
import GRDB

struct NotesApp {
    let vault: Vault
    let databases: VaultDatabases
    let events: AsyncStream<VaultEvent>
    let id: TokenID

    init(at location: VaultLocation, passcode: Passcode) async throws {
        vault = try await Vault.openOrCreate(at: location, passcode: passcode)
        databases = VaultDatabases(vault)
        events = vault.events
        id = try TokenID(service: "notes.example.org", account: "ada")
    }

    func signIn(_ key: String) async throws { try await vault.tokens.set(key, for: id) }

    func key() async throws -> String? { try await vault.tokens[id]?.string }

    func add(_ text: String, attaching path: String) async throws -> [String] {
        let notes = try await databases.pool("notes")
        try await notes.write { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS note (text TEXT, file TEXT)")
        }
        let file = try await vault.files.add(contentsOf: path)
        return try await notes.write { db in
            try db.execute(sql: "INSERT INTO note VALUES (?, ?)", arguments: [text, file.description])
            return try String.fetchAll(db, sql: "SELECT text FROM note ORDER BY rowid")
        }
    }

    func whyLocked() async -> LockReason? {
        for await event in events where event.kind == .locked { return event.reason }
        return nil
    }
}
// snippet end

extension NotesApp {
    /// Needs a terminal: compiled, not run.
    static func start() async throws {
        // snippet: notesMain
        let app = try await NotesApp(at: .default(for: "notes"), passcode: .readFromTerminal())
        try await app.signIn("the key as the server sent it")
        print(try await app.add("call the harbour", attaching: "/etc/hostname"))
        app.vault.lock()
        // snippet end
    }
}
