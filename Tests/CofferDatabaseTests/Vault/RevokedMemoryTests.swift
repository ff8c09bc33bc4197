import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import GRDB
import Synchronization
import Testing

/// The data that a connection keeps in memory or in unnamed files: no page of the database is read for it.
@Suite("Temporary tables of a vault's databases after its end")
struct RevokedMemoryTests {
    typealias End = RevocationTests.End

    private static let make = """
        CREATE TABLE t (x); INSERT INTO t VALUES ('row'), ('other');
        CREATE TEMP TABLE c AS SELECT x FROM t;
        ATTACH ':memory:' AS m; CREATE TABLE m.c AS SELECT x FROM t
        """
    private static let statements = [
        "SELECT x FROM temp.c", "SELECT x FROM m.c", "SELECT count(*) FROM c",
        "SELECT name FROM temp.sqlite_schema",
        "SELECT x FROM t", "INSERT INTO temp.c VALUES ('more')", "DROP TABLE temp.c",
        "CREATE TEMP TABLE d (x)",
        "PRAGMA temp.table_info(c)", "CREATE TEMP TABLE e AS SELECT 1 AS x",
    ]

    private func code(_ body: () throws -> Void) -> CofferError.Code? {
        do {
            try body()
            return nil
        } catch { return EncryptedDatabase.failure(error).code }
    }

    /// The error of each statement, in an access of its own and in one for all of them.
    private func expectLocked(_ writer: some DatabaseWriter) {
        for sql in Self.statements {
            let alone = code { try writer.writeWithoutTransaction { _ = try Row.fetchAll($0, sql: sql) } }
            #expect(alone == .locked, "\(sql)")
        }
        writer.writeWithoutTransaction { db in
            for sql in Self.statements {
                #expect(code { _ = try Row.fetchAll(db, sql: sql) } == .locked, "\(sql)")
            }
        }
    }

    /// After the connection has been retired, which waits for nothing but the access that runs.
    private func retired(_ writer: some DatabaseWriter) async throws {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(30)
        while clock.now < end {
            // Interrupted as long as a cursor of the connection is open.
            let setting = try? await writer.writeWithoutTransaction { db in
                try String.fetchOne(db, sql: "PRAGMA temp_store")
            }
            // Set when the temporary tables are dropped.
            if setting == "0" { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("The connection was not retired.")
    }

    @Test(
        "A queue and a pool read and write no temporary table after the end", arguments: End.allCases,
        ["FILE", "MEMORY"])
    func queue(_ end: End, storage: String) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let queue = try await VaultDatabases(temporary.vault).queue("notes")
            let pool = try await VaultDatabases(temporary.vault).pool("others")
            for writer in [queue as any DatabaseWriter, pool] {
                try await writer.writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA temp_store = \(storage); \(Self.make)")
                }
            }
            try await end.of(temporary.vault)
            expectLocked(queue)
            expectLocked(pool)
        }
    }

    @Test(
        "A pool and a snapshot read nothing, temporary tables included, after the end",
        arguments: End.allCases)
    func readers(_ end: End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes")
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            let snapshot = try pool.makeSnapshot()
            try keep(snapshot)
            try keep(pool)
            try await end.of(temporary.vault)
            // Another reader of the pool does not know the table; it needs the schema for that.
            for sql in ["SELECT x FROM temp.c", "SELECT x FROM t"] {
                #expect(codes(snapshot, sql) == [.locked, .locked])
                #expect(codes(pool, sql) == [.locked, .locked])
            }
        }
    }

    private func keep(_ reader: some DatabaseReader) throws {
        let row = try reader.unsafeRead { db in
            try db.execute(sql: "CREATE TEMP TABLE c AS SELECT x FROM t")
            return try String.fetchOne(db, sql: "SELECT x FROM t")
        }
        #expect(row == "row")
    }

    private func codes(_ reader: some DatabaseReader, _ sql: String) -> [CofferError.Code?] {
        [
            code { _ = try reader.unsafeRead { try Row.fetchAll($0, sql: sql) } },
            code { _ = try reader.read { try Row.fetchAll($0, sql: sql) } },
        ]
    }

    /// Statements of the connection, which are used in its accesses only.
    private final class Kept {
        var statement: Statement?
        var cursor: RowCursor?

        func rows() throws -> [String] { try statement.map { try String.fetchAll($0) } ?? [] }
    }

    private func compile(_ kept: Kept, _ writer: some DatabaseWriter, _ storage: String) throws {
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA temp_store = \(storage); \(Self.make)")
            kept.statement = try db.makeStatement(sql: "SELECT x FROM temp.c")
            kept.cursor = try Row.fetchCursor(db, sql: "SELECT x FROM temp.c")
            let (rows, row) = (try kept.rows(), try kept.cursor?.next())
            #expect(rows == ["row", "other"] && row != nil)
        }
    }

    private func expectEnded(_ kept: Kept, _ writer: some DatabaseWriter) {
        writer.writeWithoutTransaction { _ in
            #expect(code { _ = try kept.cursor?.next() } == .locked)
            #expect(code { _ = try kept.rows() } == .locked)
            (kept.statement, kept.cursor) = (nil, nil)
        }
    }

    @Test(
        "A compiled statement and a cursor are locked after the end", arguments: End.allCases,
        ["FILE", "MEMORY"])
    func compiled(_ end: End, storage: String) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let queue = try await VaultDatabases(temporary.vault).queue("notes")
            let kept = Kept()
            try compile(kept, queue, storage)
            try await end.of(temporary.vault)
            try await retired(queue)
            expectEnded(kept, queue)
            expectLocked(queue)
        }
    }

    /// Nothing but the session knows of such a pool, so the session retires it.
    @Test(
        "A compiled statement is locked after the end when its database has no owner",
        arguments: End.allCases, ["FILE", "MEMORY"])
    func unowned(_ end: End, storage: String) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultSoupDatabases(temporary.vault)
            let writer = try await databases.open(SoupStoreName("drafts", .user))
            let kept = Kept()
            try compile(kept, writer, storage)
            try await end.of(temporary.vault)
            try await retired(writer)
            expectEnded(kept, writer)
            expectLocked(writer)
        }
    }

    @Test(
        "A transaction that the end interrupts reads nothing more, and is left in order",
        arguments: End.allCases)
    func interrupted(_ end: End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let queue = try await VaultDatabases(session).queue("notes")
            try await queue.writeWithoutTransaction { try $0.execute(sql: Self.make) }
            let codes = Mutex<[CofferError.Code?]>([])
            let whole = await codeOf {
                try await queue.write { db in
                    let rows = try String.fetchAll(db, sql: "SELECT x FROM t")
                    #expect(rows.count == 2)
                    if end == .close { session.close() } else { session.lock() }
                    let found = ["SELECT x FROM t", "SELECT x FROM c"].map { sql in
                        code { _ = try String.fetchAll(db, sql: sql) }
                    }
                    codes.withLock { $0 = found }
                }
            }
            #expect(codes.withLock { $0 } == [.locked, .locked])
            #expect(whole == nil || whole == .locked)
            expectLocked(queue)
        }
    }

    private func codeOf(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch { return EncryptedDatabase.failure(error).code }
    }
}
