import CofferBase
import CofferDatabase
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]
private let journals = ["delete", "persist", "truncate"]

/// An empty file with a journal beside it: a new database whose first transaction a crash interrupted, or one
/// that was cut to nothing.
@Suite("Empty files beside a journal or WAL")
struct EmptiedFileTests {
    @Test("Cut to nothing under a hot journal: an error; the journal stays", arguments: writable, journals)
    func emptied(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        try hot.restore(main: [])
        #expect(hot.failureCode() == .corrupt)
        #expect(throws: CofferError.self) {
            try EncryptedDatabase.pool(at: hot.scene.path, key: hot.scene.key())
        }
        #expect(
            failure {
                try EncryptedDatabase.convert(
                    hot.scene.path, key: hot.scene.key(), to: hot.scene.scratch.path.appending("new.db"),
                    newKey: hot.scene.key())
            } == .corrupt)
        #expect(try hot.isUntouched(main: []))
        // With the file back, the rows are there; without the journal, a new database begins.
        try hot.restore()
        #expect(try hot.read() == HotFixture.right)
        try hot.restore(main: [], log: [])
        #expect(try hot.read() == [])
    }

    @Test("Cut to nothing under a connection that has read: an error; the journal stays", arguments: writable)
    func emptiedInUse(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        #expect(try hot.read() == HotFixture.right)
        let rows = "SELECT count(*) FROM t"
        let queue = try hot.scene.queue()
        #expect(try queue.read { try Int.fetchOne($0, sql: rows) } == HotFixture.rows)
        try hot.scene.write(hot.log, "-journal")
        // By another process: closing the file here would drop SQLite's locks on it.
        #expect(try CommandRun.run("truncate", ["-s", "0", hot.scene.pathText]).code == 0)
        #expect(throws: DatabaseError.self) { try queue.read { try Int.fetchOne($0, sql: rows) } }
        #expect(throws: DatabaseError.self) { try queue.write { _ = try fill($0, count: 1) } }
        try queue.close()
        #expect(try hot.isUntouched(main: []))
        try hot.restore()
        #expect(try hot.read() == HotFixture.right)
    }

    @Test("Cut to nothing beside a WAL: a new database, as SQLite has it", arguments: writable)
    func emptiedBesideWAL(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "wal")
        try hot.restore(main: [])
        #expect(try hot.read() == [])
    }

    @Test("A new database whose first transaction was interrupted opens", arguments: writable, journals)
    func interrupted(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: journal)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN; CREATE TABLE t (x); INSERT INTO t VALUES ('lost')")
            for suffix in ["", "-journal"] {
                let run = try CommandRun.run(
                    "cp", [scene.pathText + suffix, scene.pathText + ".crash" + suffix])
                #expect(run.code == 0)
            }
            try db.execute(sql: "ROLLBACK")
        }
        #expect(try scene.bytes(".crash").isEmpty && !scene.bytes(".crash-journal").isEmpty)
        let again = try EncryptedDatabase.queue(at: FilePath(scene.pathText + ".crash"), key: scene.key())
        #expect(try again.read { try !$0.tableExists("t") })
        try again.write { _ = try fill($0, count: 5) }
        #expect(try again.read { try integrity($0) } == "ok")
    }

    @Test("The journal of a transaction that ended is no reason to refuse", arguments: writable)
    func finished(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: "persist")
        // The second transaction's journal holds pages.
        for _ in 0..<2 { try queue.write { _ = try fill($0, count: 50) } }
        try queue.close()
        #expect(try scene.bytes("-journal").count > 512)
        try scene.write([])
        #expect(try scene.queue().read { try !$0.tableExists("t") })
    }
}
