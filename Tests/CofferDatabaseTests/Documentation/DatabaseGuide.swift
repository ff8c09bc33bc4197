import Coffer
import CofferBase
import CofferCrypto
import CofferDatabase
import GRDB
import SystemPackage

/// The code of `YourFirstEncryptedDatabase.md`, between markers, as it stands there.
enum DatabaseGuide {
    static func vault(_ vault: Vault) async throws -> DatabasePool {
        // snippet: vault
        let databases = VaultDatabases(vault)
        let notes = try await databases.pool("notes")
        // snippet end
        return notes
    }

    static func random() throws -> DatabaseKey {
        // snippet: random
        let key = try DatabaseKey.random()
        // snippet end
        return key
    }

    static func raw(_ vault: Vault) async throws -> DatabaseKey {
        // snippet: raw
        let id = try TokenID(service: "hello", account: "database key")
        let secret = try SecretBytes.random(count: 32)
        let token = try secret.exposing { bytes in try Token(SecretBytes.copying(bytes)) }
        try await vault.tokens.put(token, for: id)

        let key = try DatabaseKey.raw(secret)
        // snippet end
        return key
    }

    static func passphrase() throws -> DatabaseKey {
        // snippet: passphrase
        let key = try DatabaseKey.passphrase(SecretBytes.copying("correct horse battery staple"))
        // snippet end
        return key
    }

    static func queue(_ path: FilePath, _ key: borrowing DatabaseKey) throws -> DatabaseQueue {
        // snippet: queue
        let queue = try EncryptedDatabase.queue(at: path, key: key)
        // snippet end
        return queue
    }

    static func pool(_ path: FilePath, _ key: borrowing DatabaseKey) throws -> DatabasePool {
        // snippet: pool
        let pool = try EncryptedDatabase.pool(at: path, key: key)
        // snippet end
        return pool
    }

    static func migrate(_ database: any DatabaseWriter) async throws -> [String] {
        // snippet: migrate
        var migrator = DatabaseMigrator()
        migrator.registerMigration("notes") { db in
            try db.create(table: "note") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("text", .text).notNull()
            }
        }
        try migrator.migrate(database)

        try await database.write { db in
            try db.execute(sql: "INSERT INTO note (text) VALUES (?)", arguments: ["call the harbour"])
        }
        let texts = try await database.read { db in
            try String.fetchAll(db, sql: "SELECT text FROM note")
        }
        // snippet end
        return texts
    }

    static func errors(_ path: FilePath, _ key: borrowing DatabaseKey) {
        // snippet: errors
        do {
            let queue = try EncryptedDatabase.queue(at: path, key: key)
            try queue.write { db in try db.execute(sql: "DELETE FROM note WHERE id = 1") }
        } catch {
            let failure = EncryptedDatabase.failure(error)
            switch failure.code {
            case .notAuthentic: print("That is not the key of this database.")
            case .busy: print("Another program is writing: try again.")
            default: print(failure.message)
            }
        }
        // snippet end
    }

    static func busy() -> Configuration {
        // snippet: busy
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)  // seconds
        // snippet end
        return configuration
    }

    static func rekey(
        _ queue: DatabaseQueue, _ path: FilePath, _ key: borrowing DatabaseKey,
        _ newKey: borrowing DatabaseKey
    ) throws {
        // snippet: rekey
        try queue.close()
        try EncryptedDatabase.rekey(at: path, from: key, to: newKey)
        // snippet end
    }

    static func copy(_ pool: DatabasePool, to copy: FilePath) throws {
        // snippet: copy
        try pool.vacuum(into: copy.string)
        // snippet end
    }

    static func backup(_ notes: DatabasePool, _ path: FilePath, _ key: borrowing DatabaseKey) throws {
        // snippet: backup
        let backup = try EncryptedDatabase.queue(at: path, key: key)
        try notes.backup(to: backup)
        try backup.close()
        // snippet end
    }

    static func restore(
        _ path: FilePath, _ key: borrowing DatabaseKey, _ databases: VaultDatabases
    ) async throws -> DatabasePool {
        // snippet: restore
        let backup = try EncryptedDatabase.queue(at: path, key: key)
        let notes = try await databases.pool("notes")
        try backup.backup(to: notes)
        // snippet end
        return notes
    }

    static func sqlcipher() throws -> DatabaseKey {
        // snippet: sqlcipher
        let key = try DatabaseKey.passphrase(SecretBytes.copying("old passphrase"), format: .sqlcipher4)
        // snippet end
        return key
    }

    static func convert(
        _ old: FilePath, _ oldKey: borrowing DatabaseKey, to new: FilePath, _ newKey: borrowing DatabaseKey
    ) throws {
        // snippet: convert
        try EncryptedDatabase.convert(old, key: oldKey, to: new, newKey: newKey)
        // snippet end
    }

    static func attach(
        _ path: FilePath, _ key: borrowing DatabaseKey, to notes: any DatabaseWriter
    ) async throws {
        // snippet: attach
        let old = try EncryptedDatabase.queue(at: path, key: key)
        try await notes.writeWithoutTransaction { db in
            try db.execute(literal: "ATTACH DATABASE \(old.path) AS old")
            try db.execute(sql: "INSERT INTO note (text) SELECT text FROM old.note")
            try db.execute(sql: "DETACH DATABASE old")
        }
        // snippet end
    }
}
