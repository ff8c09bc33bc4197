import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Files that SQLCipher and this package exchange. Skipped where SQLCipher 4 could not be had.
@Suite(
    "SQLCipher 4",
    .enabled(
        if: SQLCipherPeer.isAvailable, "SQLCipher 4 for Python is not here: Scripts/setup-packages --tests"))
struct SQLCipherTests {
    private func expectWhole(
        _ answer: [String: String], rows: Int, _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(
            answer == ["integrity": "ok", "damaged": "0", "rows": "\(rows)", "lost": "0"],
            sourceLocation: place)
    }

    @Test("SQLCipher reads databases that we write", arguments: ["delete", "wal"])
    func sqlcipherReadsOurs(journal: String) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        try scene.queue(journal: journal).write { _ = try fill($0, count: 300) }
        expectWhole(try SQLCipherPeer.run("read", scene.pathText, scene.keyBytes), rows: 300)
    }

    @Test("We read SQLCipher's databases, and SQLCipher reads the rows that we add")
    func weReadSQLCiphers() throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        #expect(try SQLCipherPeer.run("make", scene.pathText, scene.keyBytes).isEmpty)
        let queue = try scene.queue()
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 300)
        // And back: SQLCipher reads what we add.
        try queue.write { _ = try fill($0, count: 20) }
        try queue.close()
        expectWhole(try SQLCipherPeer.run("read", scene.pathText, scene.keyBytes), rows: 320)
    }

    @Test("A passphrase opens SQLCipher's database")
    func passphrasesMakeTheSameKey() throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        #expect(try SQLCipherPeer.run("passphrase", scene.pathText, scene.keyBytes).isEmpty)
        let queue = try EncryptedDatabase.queue(
            at: scene.path, key: .passphrase(SecretBytes.copying(scene.keyBytes.hex), format: .sqlcipher4))
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 300)
    }

    @Test(
        "SQLCipher recovers a journal or WAL that our killed writer left",
        arguments: ["delete", "persist", "wal"])
    func sqlcipherRecoversOurHotFiles(journal: String) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let agent = try #require(
            Helper([
                DatabaseAgent.path, "hot", "sqlcipher4", scene.keyBytes.hex, scene.pathText, journal, "300",
            ]))
        agent.kill()
        let suffix = journal == "wal" ? "-wal" : "-journal"
        #expect(try scene.bytes(suffix).count > 4096)
        expectWhole(try SQLCipherPeer.run("read", scene.pathText, scene.keyBytes), rows: 300)
    }

    @Test(
        "We recover a journal or WAL that SQLCipher's killed writer left",
        arguments: ["delete", "persist", "wal"])
    func weRecoverSQLCiphersHotFiles(journal: String) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let peer = try #require(Helper(SQLCipherPeer.hot(scene.pathText, scene.keyBytes, journal)))
        peer.kill()
        let suffix = journal == "wal" ? "-wal" : "-journal"
        #expect(try scene.bytes(suffix).count > 4096)
        let queue = try scene.queue()
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t WHERE body LIKE 'row%'") }
                == 300)
    }
}

/// Files of SQLCipher 3, made by Debian's command.
@Suite(
    "SQLCipher 3",
    .enabled(
        if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here: Scripts/setup-packages --tests"))
struct SQLCipher3Tests {
    private func make(_ scene: borrowing DatabaseFixture, key: String) throws {
        let statements = """
            PRAGMA key = \(key);
            CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
            INSERT INTO t (body) SELECT 'row ' || i || hex(randomblob(300)) FROM n;
            """
        let run = try CommandRun.run("sqlcipher", [scene.pathText], input: Array(statements.utf8))
        #expect(run.code == 0 && run.errorText.isEmpty)
    }

    @Test("A database is read with its raw key, and cannot be written")
    func areReadWithARawKey() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try make(scene, key: "\"x'\(scene.keyBytes.hex)'\"")
        let queue = try scene.queue()
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 300)
        #expect(throws: DatabaseError.self) { try queue.write { try $0.execute(sql: "DELETE FROM t") } }
    }

    @Test("A database is read with its passphrase")
    func areReadWithAPassphrase() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try make(scene, key: "'correct horse'")
        let key = try DatabaseKey.passphrase(SecretBytes.copying("correct horse"), format: .sqlcipher3)
        let count = try EncryptedDatabase.queue(at: scene.path, key: key).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
        }
        #expect(count == 300)
    }

    @Test("A database converts to each newer format", arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func areConverted(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try make(scene, key: "\"x'\(scene.keyBytes.hex)'\"")
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key(format))
        let queue = try EncryptedDatabase.queue(at: target, key: scene.key(format))
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 300)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA page_size") } == 4096)
        try queue.write { _ = try fill($0, count: 10) }
        #expect(try queue.read { try integrity($0) } == "ok")
        if format == .sqlcipher4, SQLCipherPeer.isAvailable {
            try queue.close()
            #expect(try SQLCipherPeer.run("read", target.string, scene.keyBytes)["rows"] == "310")
        }
    }

    @Test("A conversion into this format is refused")
    func areNoTarget() throws {
        let scene = try DatabaseFixture(.gcm1)
        try scene.queue().write { _ = try fill($0, count: 5) }
        let target = scene.scratch.path.appending("new.db")
        #expect(
            failure {
                try EncryptedDatabase.convert(
                    scene.path, key: scene.key(), to: target, newKey: scene.key(.sqlcipher3))
            } == .refused)
    }
}

/// Debian's command of SQLCipher 3.
enum SQLCipher3 {
    static let isAvailable: Bool = {
        guard let run = try? CommandRun.run("sqlcipher", [":memory:", "PRAGMA cipher_version"]) else {
            return false
        }
        return run.code == 0 && run.text.hasPrefix("3.")
    }()
}
