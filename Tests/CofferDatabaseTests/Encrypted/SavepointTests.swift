import CofferCrypto
import CofferDatabase
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// SQLite up to 3.50.1 forgets checksums of WAL frames after ROLLBACK TO a savepoint in which the cache
/// spilled, so that a crash loses transactions which were committed later. Here it does not.
@Suite("Savepoints in WAL mode")
struct SavepointTests {
    private static let sum =
        "SELECT count(*) || ' ' || sum(length(body)) || ' ' || sum(id * length(body)) FROM t"

    /// Commits changes among spilled savepoints that are rolled back, and returns after how many of these
    /// commits a crash would have lost some.
    private func losses(
        _ queue: DatabaseQueue, _ path: FilePath, _ open: (FilePath) throws -> DatabaseQueue
    ) throws -> Int {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0")
            try fill(db, count: 300)
        }
        var lost = 0
        for round in 0..<12 {
            let committed = try queue.writeWithoutTransaction { db in
                func grow(_ size: Int, _ rows: Int) throws {
                    let sql = "INSERT INTO t (body) SELECT hex(zeroblob(\(size))) FROM t LIMIT \(rows)"
                    try db.execute(sql: sql)
                }
                try db.execute(sql: "BEGIN; UPDATE t SET body = body || 'a' WHERE id % 50 = \(round)")
                try db.execute(sql: "SAVEPOINT s")
                try grow(300, 20 + round * 7)
                // Pages that are spilled once, others again and again.
                for _ in 0..<3 {
                    try db.execute(sql: "UPDATE t SET body = body || 'b' WHERE id > \(100 + round * 15)")
                }
                try db.execute(sql: "ROLLBACK TO s; RELEASE s")
                try grow(500, 3 + round * 3)
                try db.execute(sql: "COMMIT; INSERT INTO t (body) VALUES ('after')")
                return try String.fetchOne(db, sql: Self.sum)
            }
            // As a crash leaves them: by another process, which drops none of SQLite's locks.
            let crashed = FilePath(path.string + ".crash")
            for suffix in ["", "-wal"] {
                let run = try CommandRun.run("cp", [path.string + suffix, crashed.string + suffix])
                try #require(run.code == 0)
            }
            let found = try open(crashed).read { try String.fetchOne($0, sql: Self.sum) }
            if found != committed { lost += 1 }
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: crashed.string + suffix)
            }
        }
        #expect(try queue.read { try integrity($0) } == "ok")
        return lost
    }

    @Test("After ROLLBACK TO, a crash loses no commit", arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func encrypted(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let key = scene.keyBytes
        let lost = try losses(scene.queue(journal: "wal"), scene.path) {
            try EncryptedDatabase.queue(
                at: $0, key: .raw(SecretBytes.copying(key.span), format: format))
        }
        #expect(lost == 0)
    }

    @Test(
        "Plain SQLite loses commits after ROLLBACK TO, in the releases that have the fault",
        .enabled(if: SQLiteVersion.number < 3_050_002))
    func plain() throws {
        let folder = try ScratchDirectory.make()
        let path = folder.path.appending("plain.db")
        let queue = try DatabaseQueue(path: path.string)
        _ = try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA journal_mode = wal") }
        #expect(try losses(queue, path) { try DatabaseQueue(path: $0.string) } > 0)
    }
}
