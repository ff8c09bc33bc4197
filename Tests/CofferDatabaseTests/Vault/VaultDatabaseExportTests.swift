import Coffer
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("A vault's database as a file of its own")
struct VaultDatabaseExportTests {
    private let rows = 300

    private func fill(_ writer: some DatabaseWriter) async throws {
        try await writer.write { [rows] db in
            try db.execute(sql: "CREATE TABLE t (x)")
            for row in 0..<rows { try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: ["row \(row)"]) }
        }
    }

    private func count(_ reader: some DatabaseReader) throws -> Int? {
        try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
    }

    private func key(_ format: DatabaseFormat = .gcm1) throws -> DatabaseKey {
        try .raw(SecretBytes.copying([UInt8](repeating: 7, count: 32).span), format: format)
    }

    @Test("What is committed is in the file, while a program goes on writing", arguments: [true, false])
    func inUse(isPlain: Bool) async throws {
        let scratch = try ScratchDirectory.make()
        let target = scratch.path.appending("out.db")
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("notes")
            try await fill(pool)
            let kept = try pool.makeSnapshot()
            if isPlain {
                try await databases.exportPlain("notes", to: target)
            } else {
                try await databases.export("notes", to: target, newKey: key(.sqlcipher4))
            }
            try await pool.write { try $0.execute(sql: "INSERT INTO t VALUES ('later')") }
            #expect(try count(kept) == rows)
            #expect(try count(pool) == rows + 1)
        }
        let file =
            isPlain
            ? try DatabaseQueue(path: target.string)
            : try EncryptedDatabase.queue(at: target, key: key(.sqlcipher4))
        #expect(try count(file) == rows)
    }

    @Test("A session-only database, too")
    func volatile() async throws {
        let scratch = try ScratchDirectory.make()
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(databases.queue("scratch", isVolatile: true))
            try await databases.exportPlain("scratch", to: scratch.path(of: "out.db"))
            #expect(try count(DatabaseQueue(path: scratch.path(of: "out.db"))) == rows)
        }
    }

    @Test("A locked vault, an absent database and a target that is there or in the vault: nothing is written")
    func refused() async throws {
        let scratch = try ScratchDirectory.make()
        let target = scratch.path.appending("out.db")
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(databases.queue("notes"))
            #expect(await code { try await databases.exportPlain("letters", to: target) } == .absent)
            #expect(try await databases.names() == ["notes"])
            // Not even a key was made.
            #expect(try await databases.info(of: "letters") == nil)
            #expect(await code { try await databases.exportPlain("not/es", to: target) } == .invalidInput)
            let inside = temporary.vault.vaultDirectory.appending("out.db")
            #expect(await code { try await databases.exportPlain("notes", to: inside) } == .refused)
            #expect(
                await code { try await databases.export("notes", to: target, newKey: key(.sqlcipher3)) }
                    == .refused)
            #expect(try scratch.names().isEmpty)
            try Data("mine".utf8).write(to: URL(filePath: target.string))
            #expect(await code { try await databases.exportPlain("notes", to: target) } == .alreadyExists)
            #expect(try Data(contentsOf: URL(filePath: target.string)) == Data("mine".utf8))
            temporary.vault.lock()
            let other = scratch.path.appending("other.db")
            #expect(await code { try await databases.exportPlain("notes", to: other) } == .locked)
            #expect(await code { try await databases.export("notes", to: other, newKey: key()) } == .locked)
            #expect(try scratch.names() == ["out.db"])
        }
    }
}
