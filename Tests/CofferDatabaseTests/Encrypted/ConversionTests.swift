import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import Synchronization
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

@Suite("Converting databases")
struct ConversionTests {
    private static let count = "SELECT count(*) FROM t"

    @Test("A copy that a last check refuses gets no name, and nothing of it stays")
    func refusedAtTheEnd() throws {
        let scratch = try ScratchDirectory.make()
        try DatabaseQueue(path: scratch.path(of: "plain.db")).write {
            try $0.execute(sql: "CREATE TABLE t (x)")
        }
        let copy = try DatabaseCopy.open(scratch.path.appending("plain.db"), nil)
        let code = failure {
            try copy.write(to: scratch.path.appending("copy.db"), nil) { () throws(CofferError) in
                throw CofferError(.locked, "locked meanwhile")
            }
        }
        #expect(code == .locked)
        #expect(try scratch.names() == ["plain.db"])
    }

    /// A database with things that a copy by hand would lose.
    private func furnish(_ db: Database) throws {
        try fill(db, count: 200)
        try db.execute(
            sql: """
                CREATE TABLE odd (a TEXT, b INTEGER AS (length(a)) STORED);
                INSERT INTO odd (rowid, a) VALUES (7, 'seven'), (900, 'nine hundred');
                CREATE TABLE k (a TEXT PRIMARY KEY) WITHOUT ROWID;
                INSERT INTO k VALUES ('key');
                CREATE INDEX i ON t (body);
                CREATE VIEW v AS SELECT a FROM odd;
                CREATE TRIGGER g AFTER DELETE ON odd BEGIN DELETE FROM k; END;
                CREATE VIRTUAL TABLE f USING fts5(x);
                INSERT INTO f VALUES ('full text');
                PRAGMA user_version = 42;
                PRAGMA application_id = 4711
                """)
    }

    private func expectFurnished(_ db: Database, _ place: SourceLocation = #_sourceLocation) throws {
        #expect(try integrity(db) == "ok", sourceLocation: place)
        #expect(try Int.fetchOne(db, sql: Self.count) == 200, sourceLocation: place)
        #expect(try Int.fetchAll(db, sql: "SELECT rowid FROM odd") == [7, 900], sourceLocation: place)
        #expect(
            try Int.fetchOne(db, sql: "SELECT count(*) FROM f WHERE f MATCH 'text'") == 1,
            sourceLocation: place)
        #expect(try Int.fetchOne(db, sql: "PRAGMA user_version") == 42, sourceLocation: place)
        #expect(try Int.fetchOne(db, sql: "PRAGMA application_id") == 4711, sourceLocation: place)
        #expect(try String.fetchOne(db, sql: "SELECT a FROM v") == "seven", sourceLocation: place)
    }

    @Test("A database of each format converts to each format under a new key", arguments: writable, writable)
    func eachFormatBecomesEach(from: DatabaseFormat, to: DatabaseFormat) throws {
        let scene = try DatabaseFixture(from)
        try scene.pool().write { try furnish($0) }
        let target = scene.scratch.path.appending("new.db")
        let newKey: [UInt8] = .counting(32, from: 99)
        try EncryptedDatabase.convert(
            scene.path, key: scene.key(), to: target,
            newKey: .raw(SecretBytes.copying(newKey.span), format: to))
        let queue = try EncryptedDatabase.queue(
            at: target, key: .raw(SecretBytes.copying(newKey.span), format: to))
        try queue.read { try expectFurnished($0) }
        try queue.write { _ = try fill($0, count: 300) }
        #expect(try queue.read { try integrity($0) } == "ok")
    }

    @Test(
        "A plain database of any page size is encrypted and exported again",
        arguments: writable, [512, 1024, 4096, 8192])
    func plainBecomesEncryptedAndPlainAgain(format: DatabaseFormat, pageSize: Int) throws {
        let scene = try DatabaseFixture(format)
        let plain = scene.scratch.path.appending("plain.db")
        let source = try DatabaseQueue(path: plain.string)
        try source.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA page_size = \(pageSize)")
            try furnish(db)
        }
        try source.close()
        try EncryptedDatabase.encrypt(plain, to: scene.path, key: scene.key())
        try scene.queue().read { try expectFurnished($0) }
        #expect(!(try scene.bytes()).contains(text: "plain text canary"))
        let back = scene.scratch.path.appending("back.db")
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key(), to: back)
        try DatabaseQueue(path: back.string).read { try expectFurnished($0) }
    }

    @Test("A conversion does not replace an existing file")
    func whatExistsIsNotReplaced() throws {
        let scene = try DatabaseFixture()
        try scene.queue().write { try furnish($0) }
        let target = scene.scratch.path.appending("new.db")
        try scene.scratch.write("new.db", [1, 2, 3])
        #expect(
            failure {
                try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key())
            } == .alreadyExists)
        #expect(try scene.scratch.read("new.db") == [1, 2, 3])
    }

    @Test("A conversion that fails leaves no file")
    func failuresLeaveNoFile() throws {
        let scene = try DatabaseFixture()
        try scene.queue().write { try furnish($0) }
        let wrong: [UInt8] = .counting(32, from: 1)
        let target = scene.scratch.path.appending("new.db")
        #expect(
            failure {
                try EncryptedDatabase.convert(
                    scene.path, key: .raw(SecretBytes.copying(wrong.span)), to: target, newKey: scene.key())
            } == .notAuthentic)
        #expect(failure { try EncryptedDatabase.encrypt(scene.path, to: target, key: scene.key()) } != nil)
        let absent = scene.scratch.path.appending("absent.db")
        #expect(failure { try EncryptedDatabase.encrypt(absent, to: target, key: scene.key()) } == .absent)
        #expect(try scene.scratch.names() == ["test.db"])
    }

    @Test("Copies that begin at the same time do not take each other's directories for a dead process's")
    func workFoldersAtOnce() throws {
        let scratch = try ScratchDirectory.make()
        let folder = scratch.path
        let failures = Mutex<[CofferError]>([])
        Threads.run(4) {
            for _ in 0..<100 {
                do throws(CofferError) {
                    let file = try PrivateDatabaseFile.make(in: folder)
                    try file.create()
                    try file.sync()
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
        }
        #expect(failures.withLock { $0.map(\.message) } == [])
        #expect(try scratch.names() == [])
    }

    @Test("The next copy removes a dead process's remains, but no directory in use and no other file")
    func remains() throws {
        let scene = try DatabaseFixture()
        try scene.queue().write { try furnish($0) }
        let folder = scene.scratch.path
        let prefix = ".coffer-unfinished-"
        for name in ["dead", "used"] {
            try FileManager.default.createDirectory(
                atPath: folder.appending(prefix + name).string, withIntermediateDirectories: false)
            try scene.scratch.write(FilePath(prefix + name + "/database"), [1])
        }
        try scene.scratch.write(FilePath(prefix + "file"), [1])
        let used = try scene.scratch.descriptor.open(FilePath(prefix + "used"), [.read, .directory])
        #expect(try used.tryLock())
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key(), to: folder.appending("new.db"))
        #expect(
            try scene.scratch.names()
                == [prefix + "file", prefix + "used", "new.db", "test.db"])
        #expect(try scene.scratch.read(FilePath(prefix + "used/database")) == [1])
    }

    @Test("An empty file is no database to convert or to encrypt")
    func emptySource() throws {
        let scene = try DatabaseFixture()
        try scene.write([])
        let target = scene.scratch.path.appending("new.db")
        #expect(
            failure {
                try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key())
            } == .absent)
        #expect(
            failure { try EncryptedDatabase.encrypt(scene.path, to: target, key: scene.key()) } == .absent)
        #expect(try scene.scratch.names() == ["test.db"])
    }

    @Test("A rekey replaces the key, also after one that a crash interrupted", arguments: writable)
    func rekeyReplacesTheKey(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let pool = try scene.pool()
        try pool.write { try furnish($0) }
        try pool.close()
        let newKey: [UInt8] = .counting(32, from: 50)
        // What an earlier crash left is no hindrance.
        try scene.scratch.write("test.db-rekey", [1, 2, 3])
        try EncryptedDatabase.rekey(
            at: scene.path, from: scene.key(), to: .raw(SecretBytes.copying(newKey.span), format: format))
        #expect(failure { _ = try scene.queue() } == .notAuthentic)
        let queue = try EncryptedDatabase.queue(
            at: scene.path, key: .raw(SecretBytes.copying(newKey.span), format: format))
        try queue.read { try expectFurnished($0) }
        #expect(try scene.scratch.names() == ["test.db"])
    }

    @Test("A rekey is refused as busy while a connection reads, and the rows stay")
    func rekeyWaitsForNobodyAndHarmsNobody() throws {
        let scene = try DatabaseFixture()
        let pool = try scene.pool()
        try pool.write { try furnish($0) }
        var configuration = Configuration()
        configuration.readonly = true
        try pool.read { db in
            _ = try Int.fetchOne(db, sql: Self.count)
            #expect(
                failure {
                    try EncryptedDatabase.rekey(at: scene.path, from: scene.key(), to: .random())
                } == .busy)
        }
        try pool.read { try expectFurnished($0) }
    }

    @Test("A file that was replaced after it was opened is not replaced again")
    func replacedMeanwhile() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { try furnish($0) }
        try queue.close()
        let handle = try DatabaseKeyHandle.register(
            .gcm1, secret: GuardedBytes.copying(scene.keyBytes.span))
        let copy = try DatabaseCopy.open(scene.path, handle)
        let newKey: [UInt8] = .counting(32, from: 50)
        try EncryptedDatabase.rekey(
            at: scene.path, from: scene.key(), to: .raw(SecretBytes.copying(newKey.span)))
        #expect(failure { try copy.acquireExclusiveLock() } == .conflict)
        #expect(failure { try copy.requireUnmoved() } == .conflict)
        let opened = try EncryptedDatabase.queue(
            at: scene.path, key: .raw(SecretBytes.copying(newKey.span)))
        try opened.read { try expectFurnished($0) }
    }

    @Test("Of two rekeys at the same time one succeeds, and its key opens the rows")
    func twoRekeysAtOnce() throws {
        for _ in 0..<10 {
            let scene = try DatabaseFixture()
            let queue = try scene.queue()
            try queue.write { try furnish($0) }
            try queue.close()
            let (path, old) = (scene.path, scene.keyBytes)
            let succeeded = Mutex<[UInt8]>([])
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                let refused = failure {
                    try EncryptedDatabase.rekey(
                        at: path, from: .raw(SecretBytes.copying(old.span)),
                        to: .raw(SecretBytes.copying([UInt8].counting(32, from: UInt8(number)).span)))
                }
                if refused == nil { succeeded.withLock { $0.append(UInt8(number)) } }
            }
            let winners = succeeded.withLock { $0 }
            #expect(winners.count == 1)
            let winner = try #require(winners.last)
            let opened = try EncryptedDatabase.queue(
                at: path, key: .raw(SecretBytes.copying([UInt8].counting(32, from: winner).span)))
            try opened.read { try expectFurnished($0) }
        }
    }

    @Test("A backup copies a database into another under another key")
    func backupCopiesBetweenEncryptedDatabases() throws {
        let scene = try DatabaseFixture()
        let source = try scene.pool()
        try source.write { try furnish($0) }
        let other: [UInt8] = .counting(32, from: 3)
        let target = scene.scratch.path.appending("backup.db")
        let backup = try EncryptedDatabase.queue(at: target, key: .raw(SecretBytes.copying(other.span)))
        try source.backup(to: backup)
        try backup.read { try expectFurnished($0) }
    }

    @Test("22: a plain database is not backed up into an encrypted one", arguments: writable)
    func backupOfAPlainDatabaseIsRefused(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        let plain = try DatabaseQueue()
        try plain.write { _ = try fill($0, count: 30) }
        #expect(throws: DatabaseError.self) { try plain.backup(to: queue) }
        try queue.close()
        #expect(try scene.queue().read { try Int.fetchOne($0, sql: Self.count) } == 20)
    }

    @Test("Every copy is its owner's alone, one in clear too")
    func modes() throws {
        let scene = try DatabaseFixture()
        try scene.queue().write { _ = try fill($0, count: 5) }
        let folder = scene.scratch.path
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key(), to: folder.appending("plain.db"))
        try EncryptedDatabase.encrypt(
            folder.appending("plain.db"), to: folder.appending("again.db"), key: scene.key())
        for name in ["plain.db", "again.db"] {
            let path = folder.appending(name).string
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
        }
        #expect(
            failure {
                try EncryptedDatabase.exportPlain(
                    scene.path, key: scene.key(), to: folder.appending("plain.db"))
            } == .alreadyExists)
    }
}

extension [UInt8] {
    func contains(text: String) -> Bool {
        Data(self).range(of: Data(text.utf8)) != nil
    }
}
