import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import TestSupport
import Testing

/// Pages that a database used again stay in memory when others are read once. SQLite must not notice it: not
/// when it writes more than its cache has room for, when the file shrinks, and when a transaction is undone.
@Suite("The page cache")
struct PageCacheTests {
    /// The bytes that this thread has read from files.
    private func bytesRead() throws -> Int {
        let counters = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(counters.split(separator: "\n").first { $0.hasPrefix("rchar: ") })
        return try #require(Int(line.dropFirst("rchar: ".count)))
    }

    private static let hot = "SELECT sum(length(body)) FROM t WHERE id IN (SELECT id FROM hot)"
    private static let all = "SELECT sum(length(body)) FROM t"

    /// A table of 1 000 rows on 1 000 pages, of which 100 rows are read again and again.
    private func fillPages(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
                CREATE TEMP TABLE hot (id INTEGER PRIMARY KEY);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                INSERT INTO t SELECT i, zeroblob(2400) FROM n;
                INSERT INTO hot SELECT id FROM t WHERE id % 10 = 0;
                """)
    }

    @Test(
        "Reading pages once does not push out those that are used again",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func scan(_ format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { try fillPages($0) }
        try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = 200; PRAGMA shrink_memory; BEGIN")
            for _ in 0..<3 { #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400) }
            let before = try bytesRead()
            #expect(try Int.fetchOne(db, sql: Self.all) == 1000 * 2400)
            let scanned = try bytesRead()
            // The rest was read from the file, and it does not fit into the cache.
            #expect(scanned - before > 800 * 4096)
            #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400)
            let again = try bytesRead() - scanned
            #expect(again < 10 * 4096, "\(again) bytes")
            try db.execute(sql: "PRAGMA shrink_memory")
            let shrunk = try bytesRead()
            #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400)
            #expect(try bytesRead() - shrunk > 90 * 4096)
            try db.execute(sql: "COMMIT")
        }
    }

    @Test(
        "Kept pages make room for a transaction that fills the cache, and for a smaller cache",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4], ["delete", "wal"])
    func spilled(_ format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: journal)
        try queue.write { try fillPages($0) }
        try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = 200")
            for _ in 0..<3 { #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400) }
            try db.execute(sql: "BEGIN; UPDATE t SET body = zeroblob(2500)")
            #expect(try Int.fetchOne(db, sql: Self.all) == 1000 * 2500)
            try db.execute(sql: "SAVEPOINT s; DELETE FROM t WHERE id > 300; PRAGMA cache_size = 20")
            #expect(try Int.fetchOne(db, sql: Self.hot) == 30 * 2500)
            try db.execute(sql: "ROLLBACK TO s; RELEASE s")
            #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2500)
            try db.execute(sql: "ROLLBACK")
            #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400)
            #expect(try integrity(db) == "ok")
        }
    }

    @Test("Kept pages behind the end of a file that shrank, and those of another size, are not used")
    func shrunkFile() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue(journal: "delete")
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA auto_vacuum = incremental; VACUUM")
            try fillPages(db)
            for _ in 0..<3 { #expect(try Int.fetchOne(db, sql: Self.hot) == 100 * 2400) }
            try db.execute(sql: "DELETE FROM t WHERE id > 100; PRAGMA incremental_vacuum")
            #expect(try #require(try Int.fetchOne(db, sql: "PRAGMA page_count")) < 200)
            // The pages of these rows have the numbers of pages that were there before.
            try db.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                    INSERT INTO t SELECT i, randomblob(2300) FROM n
                    """)
            #expect(try Int.fetchOne(db, sql: Self.hot) == 10 * 2400 + 90 * 2300)
            #expect(try integrity(db) == "ok")
            try db.execute(sql: "VACUUM")
            #expect(try Int.fetchOne(db, sql: Self.hot) == 10 * 2400 + 90 * 2300)
            #expect(try integrity(db) == "ok")
        }
    }

    /// A connection sees each commit of another one, even if the changed pages were kept.
    @Test("Kept pages that another connection changed are read again", arguments: ["delete", "wal"])
    func changed(journal: String) throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue(journal: journal)
        try queue.write { try fillPages($0) }
        let other = try scene.queue(journal: journal)
        for round in 1...20 {
            for _ in 0..<3 {
                let found = try queue.inDatabase { try Int.fetchOne($0, sql: Self.hot) }
                #expect(found == 100 * 2400 + (round - 1) * 100)
            }
            try other.write { db in
                let size = 2400 + round
                try db.execute(sql: "UPDATE t SET body = zeroblob(\(size)) WHERE id % 10 = 0")
            }
        }
    }
}
