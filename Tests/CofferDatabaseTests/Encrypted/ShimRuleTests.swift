import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]
private let pageSize = 4096

/// The rules that the VFS keeps, each found by breaking a prototype or from another's bug.
@Suite("Rules of the VFS")
struct ShimRuleTests {
    /// A database and its hot journal as a crash leaves them, before any page of the database was changed.
    private func unsyncedJournal(_ scene: borrowing DatabaseFixture) throws {
        let queue = try scene.queue(journal: "delete")
        try queue.write { _ = try fill($0, count: 200) }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = OFF; BEGIN; UPDATE t SET body = 'lost'")
            for suffix in ["", "-journal"] {
                // By another process: closing the file here would drop SQLite's locks on it.
                let run = try CommandRun.run(
                    "cp", [scene.pathText + suffix, scene.pathText + ".crash" + suffix])
                #expect(run.code == 0)
            }
            try db.execute(sql: "ROLLBACK")
        }
    }

    private func openCrashed(_ scene: borrowing DatabaseFixture) throws -> DatabaseQueue {
        try EncryptedDatabase.queue(at: FilePath(scene.pathText + ".crash"), key: scene.key())
    }

    @Test("5: a hot journal is played back", arguments: writable)
    func hotJournal(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try unsyncedJournal(scene)
        let journal = try scene.bytes(".crash-journal")
        // 11: sectors of 512 bytes.
        #expect(number(journal[20..<24]) == 512)
        let queue = try openCrashed(scene)
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t WHERE body != 'lost'") } == 200
        )
    }

    @Test(
        "6: a journal torn at its end is played back up to the tear", arguments: writable,
        [1, 100, 2000, 4099])
    func tornJournal(format: DatabaseFormat, back: Int) throws {
        let scene = try DatabaseFixture(format)
        try unsyncedJournal(scene)
        var journal = try scene.bytes(".crash-journal")
        for index in max(512, journal.count - back - 8)..<journal.count { journal[index] ^= 0x5a }
        try scene.write(journal, ".crash-journal")
        let queue = try openCrashed(scene)
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t WHERE body != 'lost'") } == 200
        )
    }

    @Test("6: a damaged journal stops the rollback of this process's own changes", arguments: writable)
    func damagedJournalInUse(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: "delete")
        try queue.write { _ = try fill($0, count: 700) }
        #expect(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA cache_size = 10; BEGIN; SAVEPOINT s; UPDATE t SET body = 'lost'")
                var journal = try scene.bytes("-journal")
                for place in stride(from: 700, to: journal.count, by: 1000) { journal[place] ^= 1 }
                try scene.write(journal, "-journal")
                try db.execute(sql: "ROLLBACK TO s")
            }
        }
    }

    @Test(
        "7, 8: a torn first page is recovered from a hot journal or WAL, with the salt of the key",
        arguments: writable, ["delete", "wal"])
    func tornFirstPage(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let arguments = [format.rawValue, scene.keyBytes.hex, scene.pathText, journal, "300"]
        let agent = try #require(Helper([DatabaseAgent.path, "hot"] + arguments))
        agent.kill()
        var main = try scene.bytes()
        let salt = Array(main[(format == .gcm1 ? 16 : 0)...].prefix(16))
        for index in 0..<512 { main[index] = UInt8(truncatingIfNeeded: index) ^ 0xa5 }
        try scene.write(main)
        let key = try DatabaseKey.raw(SecretBytes.copying(scene.keyBytes.span), format: format, salt: salt)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key)
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t WHERE body LIKE 'row%'") }
                == 300)
    }

    @Test("A database whose WAL is lost has the last checkpoint, whole", arguments: writable)
    func lostWAL(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue(journal: "wal").write { _ = try fill($0, count: 50) }
        let arguments = [format.rawValue, scene.keyBytes.hex, scene.pathText, "wal", "100"]
        let agent = try #require(Helper([DatabaseAgent.path, "hot"] + arguments))
        agent.kill()
        try FileManager.default.removeItem(atPath: scene.pathText + "-wal")
        try? FileManager.default.removeItem(atPath: scene.pathText + "-shm")
        let queue = try scene.queue()
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } ?? 0 >= 50)
    }

    @Test("9: another connection's changes are seen", arguments: writable)
    func changeCounter(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let (first, second) = (try scene.queue(journal: "delete"), try scene.queue(journal: "delete"))
        try first.write { _ = try fill($0, count: 5) }
        for number in 1...10 {
            #expect(try second.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 4 + number)
            try first.write { try $0.execute(sql: "INSERT INTO t (body) VALUES ('more')") }
        }
    }

    @Test("10: a copy of pages of another size is refused, and nothing is lost", arguments: writable)
    func otherPageSize(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 50) }
        let plain = try DatabaseQueue()
        try plain.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA page_size = 1024")
            try fill(db, count: 100)
        }
        #expect(throws: DatabaseError.self) { try plain.backup(to: queue) }
        try queue.close()
        #expect(try scene.queue().read { try integrity($0) } == "ok")
    }

    @Test("12 and section 3: the page size and memory mapping stay as they are", arguments: writable)
    func pragmas(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 200) }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA page_size = 8192; PRAGMA mmap_size = 268435456; VACUUM")
            #expect(try Int.fetchOne(db, sql: "PRAGMA page_size") == pageSize)
            #expect(try Int.fetchOne(db, sql: "PRAGMA mmap_size") ?? 0 == 0)
        }
        #expect(try scene.queue().read { try integrity($0) } == "ok")
    }

    @Test("Whatever the VFS answers itself can be fetched as a row", arguments: writable)
    func fetchedPragmas(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().writeWithoutTransaction { db in
            for (pragma, answer) in [
                ("mmap_size", "0"), ("mmap_size = 1000", "0"), ("page_size = 1024", "4096"),
                ("page_size", "4096"), ("coffer_guard", "on"), ("coffer_forget", "kept"),
                ("coffer_codec", format.rawValue),
            ] {
                let row = try #require(try Row.fetchOne(db, sql: "PRAGMA \(pragma)"), "\(pragma)")
                #expect(String.fromDatabaseValue(row[0] as DatabaseValue) ?? "\(row[0] as Int)" == answer)
                #expect(row.columnNames.count == 1)
            }
        }
    }

    @Test("15 and 16: a page that is cut or zero is an error and not a row", arguments: writable)
    func cutAndZeroPages(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 200) }
        let main = try scene.bytes()
        for damage in [
            Array(main[..<(main.count - 1000)]),
            main[..<(main.count - pageSize)] + [UInt8](repeating: 0, count: pageSize),
        ] {
            try scene.write(damage)
            let thrown = failure {
                do {
                    _ = try scene.queue().read { try Row.fetchAll($0, sql: "SELECT * FROM t") }
                } catch { throw EncryptedDatabase.failure(error) }
            }
            #expect(thrown == .corrupt)
        }
    }

    @Test("17: each journal follows its own database", arguments: ["delete", "wal"])
    func severalDatabases(journal: String) throws {
        let first = try DatabaseFixture(.gcm1)
        let second = try DatabaseFixture(.sqlcipher4, keyBytes: .counting(32, from: 90))
        let queues = (try first.queue(journal: journal), try second.queue(journal: journal))
        for _ in 0..<5 {
            try queues.0.write { _ = try fill($0, count: 20) }
            try queues.1.write { _ = try fill($0, count: 30) }
        }
        #expect(try queues.0.read { try integrity($0) } == "ok")
        #expect(try queues.1.read { try integrity($0) } == "ok")
        #expect(try queues.1.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 150)
    }

    @Test("19: an unknown token opens nothing and makes nothing")
    func unknownToken() throws {
        let scene = try DatabaseFixture()
        try scene.queue().write { _ = try fill($0, count: 5) }
        for query in ["vfs=coffer&kref=00", "vfs=coffer", "vfs=coffer&kref="] {
            #expect(throws: DatabaseError.self) { try DatabaseQueue(path: "file:\(scene.pathText)?\(query)") }
            #expect(throws: DatabaseError.self) {
                try DatabaseQueue(path: "file:\(scene.pathText).new?\(query)")
            }
        }
        #expect(try scene.scratch.names() == ["test.db"])
    }

    @Test("19: a key that was taken back opens nothing more, and fails what is open")
    func revokedKey() throws {
        let scene = try DatabaseFixture()
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: key)
        let uri = handle.uri(for: scene.pathText)
        let queue = try DatabaseQueue(path: uri)
        try queue.write { _ = try fill($0, count: 2000) }
        handle.revoke()
        #expect(throws: DatabaseError.self) { try queue.write { _ = try fill($0, count: 10) } }
        #expect(throws: DatabaseError.self) { try DatabaseQueue(path: uri) }
        #expect(try scene.queue().read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2000)
    }

    @Test("20: a damaged page is an error of its own and does not spoil the connection", arguments: writable)
    func damagedPage(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let root = try scene.queue().write { db in
            try fill(db, count: 100)
            try db.execute(sql: "CREATE TABLE other (x); INSERT INTO other VALUES ('fine')")
            return try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 't'") ?? 0
        }
        var bytes = try scene.bytes()
        bytes[(root - 1) * pageSize + 2000] ^= 4
        try scene.write(bytes)
        let queue = try scene.queue()
        for _ in 0..<2 {
            let thrown = failure {
                do { _ = try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM t") } } catch {
                    throw EncryptedDatabase.failure(error)
                }
            }
            #expect(thrown == .corrupt)
            #expect(try queue.read { try String.fetchOne($0, sql: "SELECT x FROM other") } == "fine")
        }
    }

    @Test("22: no statement leads out of the encryption")
    func guarded() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        let outside = scene.scratch.path.appending("outside.db").string
        for statement in [
            "ATTACH 'file:\(outside)?vfs=unix' AS x", "ATTACH 'file:\(outside)?%76fs=unix' AS x",
            "ATTACH 'file:\(outside)?mode=rwc&vfs=unix-none' AS x", "ATTACH '\(outside)' AS x",
            "ATTACH 'file:\(outside)' AS x", "ATTACH 'fi' || 'le:\(outside)?vfs=unix' AS x",
            "VACUUM INTO 'file:\(outside)?vfs=unix'", "VACUUM INTO 'file:\(outside)'",
            "SELECT load_extension('\(outside)')",
        ] {
            #expect(throws: DatabaseError.self, "\(statement)") {
                try queue.writeWithoutTransaction { try $0.execute(sql: statement) }
            }
        }
        #expect(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { try $0.execute(sql: "ATTACH ? AS x", arguments: [outside]) }
        }
        try queue.writeWithoutTransaction {
            try $0.execute(sql: "ATTACH ':memory:' AS m; CREATE TABLE m.t (x)")
        }
        #expect(!FileManager.default.fileExists(atPath: outside))
    }

    @Test("Any bit that changes is found or does no harm", arguments: writable)
    func flippedBytes(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 60) }
        func rows(_ scene: borrowing DatabaseFixture) throws -> [String] {
            try scene.queue().read { try String.fetchAll($0, sql: "SELECT body FROM t ORDER BY id") }
        }
        let right = try rows(scene)
        let main = try scene.bytes()
        var source = SystemRandomNumberGenerator()
        var refused = 0
        for page in 0..<main.count / pageSize {
            for _ in 0..<6 {
                var damaged = main
                damaged[page * pageSize + Int.random(in: 0..<pageSize, using: &source)] ^=
                    1 << UInt8.random(in: 0..<8)
                try scene.write(damaged)
                if let read = try? rows(scene) { #expect(read == right) } else { refused += 1 }
            }
        }
        #expect(refused > 0)
    }

    @Test("Pages that change places do not open", arguments: writable)
    func swappedPages(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 200) }
        var main = try scene.bytes()
        let (left, right) = (2 * pageSize..<3 * pageSize, 3 * pageSize..<4 * pageSize)
        let copy = Array(main[left])
        main.replaceSubrange(left, with: Array(main[right]))
        main.replaceSubrange(right, with: copy)
        try scene.write(main)
        #expect(throws: DatabaseError.self) {
            try scene.queue().read { try Row.fetchAll($0, sql: "SELECT * FROM t") }
        }
    }
}
