import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// Every access that SQLite makes to a database's files has a shape that the VFS knows: a release of SQLite
/// that reads or writes otherwise shows here, and is refused by the VFS meanwhile.
@Suite struct ShapeTests {
    private static let known: Set<String> = [
        "main read page", "main read 16 @24", "main read 100 @0", "main write page",
        "main write page, checkpoint",
        "journal read 1", "journal read 4", "journal read 8", "journal read page",
        "journal write 1", "journal write 4", "journal write 8", "journal write 12", "journal write 28",
        "journal write 512", "journal write page", "journal write checksum", "journal write name",
        "wal read 32 @0", "wal read 8", "wal read frame", "wal read page",
        "wal write 32 @0", "wal write 24", "wal write page", "wal rewrite 24", "wal overwrite page",
    ]

    @Test(arguments: [CodecFormat.gcm1, .sqlcipher4])
    func everyShapeIsKnown(format: CodecFormat) throws {
        let trace = ShapeTrace()
        for journal in ["delete", "truncate", "persist", "memory", "off", "wal"] {
            let scene = try DatabaseScene()
            let key = try GuardedBytes.copying(scene.keyBytes.span)
            let lease = try DatabaseLease.register(format, secret: key, trace: trace)
            try work(journal) { try DatabaseQueue(path: lease.uri(for: scene.pathText)) }
        }
        #expect(trace.seen.subtracting(Self.known) == [])
        #expect(trace.seen.count > 15)
    }

    private func work(_ journal: String, _ open: () throws -> DatabaseQueue) throws {
        let (queue, other) = (try open(), try open())
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10; PRAGMA auto_vacuum = incremental; VACUUM")
            _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(journal)")
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.inTransaction {
                try fill(db, count: 400)
                return .commit
            }
            try db.inTransaction {
                for _ in 0..<3 { try db.execute(sql: "UPDATE t SET body = body || 'again'") }
                return .commit
            }
            if journal != "off" {
                try db.inTransaction {
                    try db.execute(sql: "DELETE FROM t WHERE id % 2 = 0")
                    return .rollback
                }
                try db.inTransaction {
                    try db.inSavepoint {
                        try db.execute(sql: "UPDATE t SET body = 'short'")
                        return .rollback
                    }
                    return .commit
                }
            }
            try db.execute(sql: "CREATE UNIQUE INDEX u ON t (id, body); DELETE FROM t WHERE id % 5 = 0")
            try db.execute(
                sql: "PRAGMA incremental_vacuum; REINDEX; VACUUM; CREATE VIRTUAL TABLE f USING fts5(x)")
            try db.execute(sql: "INSERT INTO f SELECT body FROM t; PRAGMA wal_checkpoint(TRUNCATE)")
            #expect(try integrity(db) == "ok")
        }
        #expect(try other.read { try integrity($0) } == "ok")
        try queue.write { try $0.execute(sql: "DROP TABLE t") }
        #expect(try other.read { try integrity($0) } == "ok")
    }
}
