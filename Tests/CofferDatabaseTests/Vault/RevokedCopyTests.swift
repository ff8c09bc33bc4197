import Coffer
import CofferBase
@testable import CofferDatabase
@testable import CofferEngineSQLite
import CofferTesting
import Dispatch
import GRDB
import Synchronization
import TestSupport
import Testing

/// SQLite's backup runs no statement and calls no lock. Every page of these databases is in memory when the
/// key is revoked, so that no page is read from a file either.
@Suite("A backup of a database whose key was revoked")
struct RevokedCopyTests {
    private typealias End = RevocationTests.End

    @Test("SQLite uses the page cache that refuses pages of revoked keys")
    func inUse() throws {
        _ = try DatabaseQueue()
        #expect(CachedPages.isInUse)
    }

    /// Where the pages are when the connection reads them.
    enum Place: CaseIterable {
        case database, wal
    }

    private static let make = "CREATE TABLE t (id INTEGER PRIMARY KEY, x); CREATE INDEX i ON t (x)"
    private static let rows = 400

    private func code(_ body: () throws -> Void) -> CofferError.Code? {
        do {
            try body()
            return nil
        } catch { return EncryptedDatabase.failure(error).code }
    }

    private func fill(_ writer: some DatabaseWriter, _ place: Place = .wal) throws {
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: Self.make)
            try db.inTransaction {
                for row in 0..<Self.rows {
                    try db.execute(sql: "INSERT INTO t (x) VALUES (?)", arguments: ["row \(row) of many"])
                }
                return .commit
            }
            if place == .database { _ = try db.checkpoint(.truncate) }
        }
    }

    /// Copies the whole database, which proves that it can be done and leaves every page in memory.
    private func readAll(_ reader: some DatabaseReader) throws {
        let copy = try DatabaseQueue()
        try reader.backup(to: copy)
        #expect(try count(copy) == Self.rows)
    }

    private func count(_ copy: DatabaseQueue) throws -> Int? {
        try copy.read { db in
            try db.tableExists("t") ? Int.fetchOne(db, sql: "SELECT count(*) FROM t") : nil
        }
    }

    private func expectRefused(_ copy: DatabaseQueue, _ body: () throws -> Void) throws {
        #expect(code(body) == .locked)
        let schema = try copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        #expect(schema == 0)
    }

    @Test(
        "A snapshot is not copied, into memory, into a plain file or into an encrypted database",
        arguments: RevocationTests.End.allCases, Place.allCases)
    func snapshot(_ end: RevocationTests.End, _ place: Place) async throws {
        let other = try DatabaseFixture()
        let plain = try DatabaseQueue(path: other.pathText + ".plain")
        let copies = [try DatabaseQueue(), plain, try other.queue()]
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes")
            try fill(pool, place)
            let snapshot = try pool.makeSnapshot()
            try readAll(snapshot)
            try await end.of(temporary.vault)
            for copy in copies { try expectRefused(copy) { try snapshot.backup(to: copy) } }
            for copy in copies { try expectRefused(copy) { try pool.backup(to: copy) } }
        }
    }

    @Test(
        "A pool's transaction that has begun is not copied",
        arguments: [RevocationTests.End.lock, .close], Place.allCases)
    func transaction(_ end: RevocationTests.End, _ place: Place) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let pool = try await VaultDatabases(session).pool("notes")
            try fill(pool, place)
            let copies = [try DatabaseQueue(), try DatabaseQueue()]
            try await pool.read { db in
                try backup(db, to: copies[0])
                if end == .lock { session.lock() } else { session.close() }
                try expectRefused(copies[1]) { try backup(db, to: copies[1]) }
            }
            #expect(try count(copies[0]) == Self.rows)
        }
    }

    private func backup(_ db: Database, to copy: DatabaseQueue) throws {
        try copy.writeWithoutTransaction { try db.backup(to: $0) }
    }

    @Test(
        "A transaction that reads, and one that writes, are not copied in any format and journal mode",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4], ["delete", "wal"])
    func formats(_ format: DatabaseFormat, journal: String) throws {
        for writes in [false, true] {
            let scene = try DatabaseFixture(format)
            let handle = try scene.key().handle()
            let queue = try EncryptedDatabase.queue(
                at: scene.path, handle: handle, configuration: Configuration())
            _ = try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA journal_mode = \(journal)") }
            try fill(queue, .wal)
            let copy = try DatabaseQueue()
            try queue.inDatabase { db in
                try db.execute(sql: "BEGIN")
                #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM t") == Self.rows)
                try backup(db, to: DatabaseQueue())
                if writes { try db.execute(sql: "INSERT INTO t (x) VALUES ('one more')") }
                handle.revoke()
                // SQLite itself copies nothing in a transaction that writes.
                let found = code { try backup(db, to: copy) }
                #expect(found == (writes ? .busy : .locked))
                try? db.rollback()
                #expect(code { try backup(db, to: copy) } == .locked)
            }
            #expect(try count(copy) == nil)
            let again = try scene.queue()
            #expect(try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == Self.rows)
            #expect(try again.read { try integrity($0) } == "ok")
        }
    }

    @Test(
        "A lock returns while a backup runs, and the backup ends at its next step",
        arguments: Place.allCases)
    func underWay(_ place: Place) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let pool = try await VaultDatabases(session).pool("notes")
            try fill(pool, place)
            let snapshot = try pool.makeSnapshot()
            try readAll(snapshot)
            let copy = try DatabaseQueue()
            var steps = 0
            try expectRefused(copy) {
                try snapshot.backup(to: copy, pagesPerStep: 2) { _ in
                    steps += 1
                    guard steps == 2 else { return }
                    let isLocked = DispatchSemaphore(value: 0)
                    DispatchQueue.global().async {
                        session.lock()
                        isLocked.signal()
                    }
                    #expect(isLocked.wait(timeout: .now() + 60) == .success)
                }
            }
            #expect(steps == 2)
        }
    }

    private final class Passes: Sendable {
        let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
    }

    @Test("A transaction that was committed before the key was revoked stays committed", arguments: 0..<3)
    func committed(round: Int) async throws {
        let scene = try DatabaseFixture()
        let handle = try scene.key().handle()
        let pool = try EncryptedDatabase.pool(at: scene.path, handle: handle, configuration: Configuration())
        try await pool.write { try $0.execute(sql: Self.make) }
        let committed = Passes()
        let writing = Task {
            while (try? await pool.write({ try $0.execute(sql: "INSERT INTO t (x) VALUES (1)") })) != nil {
                committed.count.add(1, ordering: .relaxed)
                guard committed.value < 100_000 else { return }
            }
        }
        #expect(await eventually { committed.value > 3 + round })
        handle.revoke()
        await writing.value
        let other = try scene.pool()
        let count = try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } ?? 0
        // The last one may have been committed and have failed afterwards.
        #expect((committed.value...committed.value + 1).contains(count))
        #expect(try await other.read { try integrity($0) } == "ok")
    }

    @Test("Snapshots and pools are closed and read while the key is revoked", arguments: 0..<3)
    func closing(round: Int) async throws {
        let scene = try DatabaseFixture()
        let handle = try scene.key().handle()
        let pool = try EncryptedDatabase.pool(at: scene.path, handle: handle, configuration: Configuration())
        try fill(pool, round.isMultiple(of: 2) ? .wal : .database)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for pass in 0..<20 {
                        let found = self.code {
                            let snapshot = try pool.makeSnapshot()
                            try snapshot.backup(to: DatabaseQueue())
                            _ = try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
                        }
                        if pass > round { handle.revoke() }
                        guard found == nil else {
                            // An interrupted statement that reads the schema is SQLite's own.
                            #expect(found == .locked || found == .cancelled)
                            return
                        }
                    }
                    Issue.record("A database was read after its key was revoked.")
                }
            }
        }
    }

    @Test(
        "A statement gets no further page of an attached database whose own key is revoked",
        arguments: Place.allCases)
    func attached(_ place: Place) throws {
        let scene = try DatabaseFixture()
        let other = try DatabaseFixture()
        let queue = try scene.queue()
        try fill(queue, .wal)
        let handle = try other.key().handle()
        let pool = try EncryptedDatabase.pool(at: other.path, handle: handle, configuration: Configuration())
        try fill(pool, place)
        try queue.inDatabase { db in
            try db.execute(literal: "ATTACH DATABASE \(pool.path) AS other; BEGIN")
            let select = try db.makeStatement(sql: "SELECT x FROM other.t")
            #expect(try String.fetchAll(select).count == Self.rows)
            let rows = try Row.fetchCursor(db, sql: "SELECT x FROM other.t")
            #expect(try rows.next() != nil)
            handle.revoke()
            // The rest of the page that the cursor is on, at most.
            var further = 0
            #expect(code { while try rows.next() != nil { further += 1 } } == .locked)
            #expect(further < Self.rows / 2)
            #expect(code { _ = try String.fetchAll(select) } == .locked)
            #expect(code { try db.execute(sql: "INSERT INTO other.t (x) VALUES ('more')") } == .locked)
            try? db.rollback()
            // The connection's own database stays usable.
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM main.t") == Self.rows)
            try db.execute(sql: "BEGIN; INSERT INTO main.t (x) VALUES ('more'); COMMIT")
            #expect(code { _ = try String.fetchAll(select) } == .locked)
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM main.t") == Self.rows + 1)
        }
    }
}
