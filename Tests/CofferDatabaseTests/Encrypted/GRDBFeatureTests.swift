import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@Suite("GRDB's features on encrypted databases")
struct GRDBFeatureTests {
    private struct Note: Codable, FetchableRecord, PersistableRecord, Equatable {
        var id: Int64
        var text: String
        static let databaseTableName = "note"
    }

    private func migrator() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("notes") { db in
            try db.create(table: "note") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("text", .text).notNull()
            }
        }
        migrator.registerMigration("stars") { db in
            try db.alter(table: "note") { $0.add(column: "stars", .integer).notNull().defaults(to: 0) }
        }
        return migrator
    }

    @Test(
        "Migrations run once, and records are inserted, updated and fetched",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func migrationsRunOnceAndRecordsArePersisted(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try migrator().migrate(try scene.pool())
        let pool = try scene.pool()
        try migrator().migrate(pool)
        #expect(try pool.read { try migrator().hasCompletedMigrations($0) })
        try pool.write { try Note(id: 1, text: "first").insert($0) }
        #expect(try pool.read { try Note.fetchOne($0, key: 1) } == Note(id: 1, text: "first"))
        try pool.write { try Note(id: 1, text: "changed").update($0) }
        #expect(try pool.read { try Note.fetchAll($0).map(\.text) } == ["changed"])
    }

    @Test("Failed transactions and savepoints roll back")
    func failedTransactionsAndSavepointsRollBack() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue(journal: "delete")
        try migrator().migrate(queue)
        try queue.write { db in
            try Note(id: 1, text: "kept").insert(db)
            try db.inSavepoint {
                for number in 2..<Int64(2000) {
                    try Note(id: number, text: String(repeating: "x", count: 500)).insert(db)
                }
                return .rollback
            }
        }
        #expect(throws: (any Error).self) {
            try queue.write { db in
                try db.execute(sql: "UPDATE note SET text = 'lost'")
                try Note(id: 1, text: "twice").insert(db)
            }
        }
        #expect(try queue.read { try Note.fetchAll($0) } == [Note(id: 1, text: "kept")])
        #expect(try queue.read { try integrity($0) } == "ok")
    }

    @Test("Full-text search finds stemmed words")
    func fullTextSearchFinds() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { db in
            try db.create(virtualTable: "page", using: FTS5()) { table in
                table.tokenizer = .porter()
                table.column("title")
                table.column("body")
            }
            for number in 0..<500 {
                try db.execute(
                    sql: "INSERT INTO page VALUES (?, ?)",
                    arguments: [
                        "page \(number)", number % 50 == 0 ? "databases are encrypted" : "nothing here",
                    ])
            }
        }
        let found = try queue.read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM page WHERE page MATCH ?",
                arguments: [FTS5Pattern(matchingAllTokensIn: "encrypt database")])
        }
        #expect(found == 10)
    }

    @Test("An observation sees every change")
    func observationSeesChanges() async throws {
        let scene = try DatabaseFixture()
        let pool = try scene.pool()
        try migrator().migrate(pool)
        let observation = ValueObservation.tracking { try Note.fetchCount($0) }
        var seen: [Int] = []
        for try await count in observation.values(in: pool) {
            // The same value may come twice.
            guard count != seen.last else { continue }
            seen.append(count)
            if count == 3 { break }
            try await pool.write { [count] db in try Note(id: Int64(count + 1), text: "n").insert(db) }
        }
        #expect(seen.first == 0 && seen.last == 3)
    }

    @Test(
        "A pool's readers see no half transaction while another connection writes",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func poolServesReadersWhileOneWrites(format: DatabaseFormat) async throws {
        let scene = try DatabaseFixture(format)
        let pool = try scene.pool()
        try await pool.write { db in
            try db.execute(sql: "CREATE TABLE pair (a INTEGER, b INTEGER, c BLOB)")
            try db.execute(sql: "INSERT INTO pair VALUES (0, 0, zeroblob(10))")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...150 {
                    try await pool.write { db in
                        try db.execute(sql: "UPDATE pair SET a = ?", arguments: [number])
                        try db.execute(
                            sql: "INSERT INTO pair SELECT a, a, randomblob(3000) FROM pair LIMIT 1")
                        try db.execute(sql: "UPDATE pair SET b = a")
                    }
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<100 {
                        let wrong = try await pool.read { db in
                            try Int.fetchOne(db, sql: "SELECT count(*) FROM pair WHERE a != b")
                        }
                        #expect(wrong == 0)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await pool.read { try integrity($0) } == "ok")
    }

    @Test("A snapshot keeps its rows while the database changes")
    func snapshotsStayAsTheyWere() throws {
        let scene = try DatabaseFixture()
        let pool = try scene.pool()
        try pool.write { _ = try fill($0, count: 10) }
        let snapshot = try pool.makeSnapshot()
        try pool.write { _ = try fill($0, count: 10) }
        #expect(try snapshot.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 10)
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 20)
    }

    @Test("VACUUM, REINDEX and ANALYZE leave a sound database")
    func vacuumAndReindexWork() throws {
        let scene = try DatabaseFixture()
        let pool = try scene.pool()
        try pool.write { _ = try fill($0, count: 500) }
        try pool.write { try $0.execute(sql: "DELETE FROM t WHERE id % 2 = 0") }
        try pool.vacuum()
        try pool.write { try $0.execute(sql: "REINDEX; ANALYZE") }
        #expect(try pool.read { try integrity($0) } == "ok")
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 250)
    }
}
