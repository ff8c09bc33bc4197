import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import GRDB
import Testing

/// Statements that were compiled before the end of the vault, on pages that SQLite has in memory: no file is
/// asked for them, and no authorizer.
@Suite("A statement that runs when its vault ends")
struct RunningStatementTests {
    private typealias End = RevocationTests.End

    private static let make = "CREATE TABLE t (x); INSERT INTO t VALUES ('one'), ('two'), ('three')"

    private func code(_ body: () throws -> Void) -> CofferError.Code? {
        do {
            try body()
            return nil
        } catch { return EncryptedDatabase.failure(error).code }
    }

    /// The shortest programs that hand out a value, and others.
    @Test(
        "A cursor hands out no further row, also of a table that is wholly in memory",
        arguments: [RevocationTests.End.lock, .close],
        [
            "SELECT x FROM t", "SELECT rowid FROM t", "SELECT x FROM t ORDER BY x", "SELECT x FROM temp.c",
            "SELECT t.x FROM t JOIN t AS u", "SELECT x FROM t UNION ALL SELECT x FROM t",
        ])
    func cursor(_ end: RevocationTests.End, sql: String) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let writer: any DatabaseWriter =
                end == .lock
                ? try await VaultDatabases(session).queue("notes")
                : try await VaultDatabases(session).pool("notes")
            try await writer.writeWithoutTransaction { db in
                try db.execute(sql: Self.make + "; CREATE TEMP TABLE c AS SELECT x FROM t")
                let rows = try Row.fetchCursor(db, sql: sql)
                #expect(try rows.next() != nil)
                if end == .lock { session.lock() } else { session.close() }
                #expect(code { _ = try rows.next() } == .locked)
                #expect(code { _ = try rows.next() } == .locked)
            }
        }
    }

    @Test(
        "The end of the vault stops a query that keeps computing",
        arguments: [RevocationTests.End.lock, .close])
    func query(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let queue = try await VaultDatabases(session).queue("notes")
            try await queue.writeWithoutTransaction { try $0.execute(sql: Self.make) }
            let isEnded = DatabaseFunction("ended", argumentCount: 1) { _ in
                if end == .lock { session.lock() } else { session.close() }
                return 1
            }
            let found = code {
                try queue.writeWithoutTransaction { db in
                    db.add(function: isEnded)
                    // It takes seconds, if nothing ends it.
                    _ = try Int.fetchOne(
                        db,
                        sql: """
                            WITH RECURSIVE n(i) AS (
                                SELECT ended(x) FROM t UNION ALL SELECT i + 1 FROM n WHERE i < 9999999)
                            SELECT max(i) FROM n
                            """)
                }
            }
            #expect(found == .locked)
        }
    }

    /// Statements of a snapshot, which are used in its accesses only.
    private final class Kept {
        var statement: Statement?
    }

    @Test("A compiled statement of a snapshot reads nothing more", arguments: RevocationTests.End.allCases)
    func snapshot(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes")
            try await pool.writeWithoutTransaction { try $0.execute(sql: Self.make) }
            let snapshot = try pool.makeSnapshot()
            let kept = Kept()
            try compile(kept, snapshot)
            try await end.of(temporary.vault)
            expectEnded(kept, snapshot)
        }
    }

    private func compile(_ kept: Kept, _ snapshot: DatabaseSnapshot) throws {
        try snapshot.read { db in
            let statement = try db.cachedStatement(sql: "SELECT x FROM t;\n")
            #expect(try String.fetchAll(statement) == ["one", "two", "three"])
            kept.statement = statement
        }
    }

    private func expectEnded(_ kept: Kept, _ snapshot: DatabaseSnapshot) {
        snapshot.unsafeRead { _ in
            #expect(code { _ = try kept.statement.map { try String.fetchAll($0) } } == .locked)
            kept.statement = nil
        }
    }

    @Test(
        "A compiled statement of an open transaction reads and writes nothing, and the transaction ends",
        arguments: [RevocationTests.End.lock, .close])
    func transaction(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let queue = try await VaultDatabases(session).queue("notes")
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: Self.make)
                let select = try db.makeStatement(sql: "SELECT x FROM t")
                let insert = try db.makeStatement(sql: "INSERT INTO t VALUES ('four')")
                try db.execute(sql: "BEGIN")
                #expect(try String.fetchAll(select).count == 3)
                if end == .lock { session.lock() } else { session.close() }
                #expect(code { _ = try String.fetchAll(select) } == .locked)
                #expect(code { try insert.execute() } == .locked)
                if db.isInsideTransaction { try db.rollback() }
                #expect(!db.isInsideTransaction)
            }
            guard end == .lock else { return }
            try await session.unlock(with: Passcode(copying: "2468"))
            let again = try await VaultDatabases(session).queue("notes")
            #expect(try await again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3)
        }
    }

    @Test("The program's own interruption is no lock, also after a lock interrupted another query")
    func own() async throws {
        try await cursor(.lock, sql: "SELECT x FROM t")
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let queue = try await VaultDatabases(temporary.vault).queue("notes")
            let interrupting = DatabaseFunction("interrupting", argumentCount: 1) { _ in
                queue.interrupt()
                return 1
            }
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: Self.make)
                db.add(function: interrupting)
                #expect(code { _ = try Int.fetchAll(db, sql: "SELECT interrupting(x) FROM t") } == .cancelled)
                #expect(code { throw DatabaseError(resultCode: .SQLITE_ABORT) } == .cancelled)
                #expect(try String.fetchAll(db, sql: "SELECT x FROM t").count == 3)
            }
        }
    }
}
