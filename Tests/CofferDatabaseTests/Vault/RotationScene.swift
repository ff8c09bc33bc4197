import Coffer
import CofferBase
import CofferDatabase
import CofferEngine
import CofferTesting
import Foundation
import GRDB
import SystemPackage

/// Functions for a vault's databases whose keys are replaced.
enum RotationScene {
    static let passcode = "2468"
    static let rows = 400

    static func fill(_ writer: any DatabaseWriter) async throws {
        try await writer.write { db in
            try db.execute(sql: "CREATE TABLE t (x)")
            for row in 0..<Self.rows {
                try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: ["row \(row)"])
            }
        }
    }

    static func add(_ writer: any DatabaseWriter) async throws {
        do {
            try await writer.write { try $0.execute(sql: "INSERT INTO t VALUES ('later')") }
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    static func count(_ reader: any DatabaseReader) async throws -> Int? {
        try await reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
    }

    /// The number of rows for somebody who opens the database now.
    static func count(_ vault: Vault, _ name: String = "notes") async throws -> Int? {
        let databases = VaultDatabases(vault)
        let found = try await count(databases.queue(name))
        await databases.close()
        return found
    }

    /// A closed database with rows.
    static func make(_ vault: Vault, _ name: String = "notes", isPool: Bool = false) async throws {
        let databases = VaultDatabases(vault)
        try await fill(isPool ? databases.pool(name) : databases.queue(name))
        await databases.close()
    }

    static func path(_ vault: Vault, _ file: String = "database-notes.db") -> URL {
        URL(filePath: vault.vaultDirectory.appending("soups").appending(file).string)
    }

    static func key(_ vault: Vault, _ name: String = "notes") throws -> StoredToken? {
        try vault.tokens.stored(DatabaseKeyNaming.id("database", name))
    }

    /// The names in the databases' directory.
    static func names(_ vault: Vault) throws -> [String] {
        let folder = path(vault).deletingLastPathComponent().path(percentEncoded: false)
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }
}
