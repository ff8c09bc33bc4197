import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import Testing
import TestSupport

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// SQLite takes what is missing of a file for zeros. Here it is damage, and nothing seals zeros in its place.
@Suite("Databases that lack a part of their file")
struct CutFileTests {
    private static let pageSize = 4096

    /// A database whose last page is one of a value's overflow pages.
    private func filled(_ format: DatabaseFormat) throws -> DatabaseFixture {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: "delete")
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
                    INSERT INTO t VALUES (1, 'first'), (2, replace(hex(zeroblob(4500)), '0', 'A'))
                    """)
        }
        try queue.close()
        return scene
    }

    private func code(_ body: () throws -> Void) -> CofferError.Code? {
        do {
            try body()
            return nil
        } catch { return EncryptedDatabase.failure(error).code }
    }

    @Test("A page that lacks a part is damage", arguments: writable, [1, 2000, 4095])
    func partOfAPage(format: DatabaseFormat, cut: Int) throws {
        let scene = try filled(format)
        let whole = try scene.bytes()
        #expect(whole.count % Self.pageSize == 0)
        let left = Array(whole.dropLast(cut))
        let reads = ["SELECT x FROM t WHERE id = 2", "SELECT sum(length(x)) FROM t", "VACUUM"]
        for sql in reads {
            try scene.write(left)
            let queue = try scene.queue()
            let found = code { _ = try queue.writeWithoutTransaction { try Row.fetchAll($0, sql: sql) } }
            #expect(found == .corrupt, "\(sql)")
            try queue.close()
            #expect(try scene.bytes() == left, "\(sql)")
        }
        // Nor does a write put zeros in its place: more rows need more pages.
        try scene.write(left)
        let queue = try scene.queue()
        let written = code {
            try queue.write { db in
                for id in 3..<60 {
                    try db.execute(
                        sql: "INSERT INTO t VALUES (?, hex(randomblob(3000)))", arguments: [id])
                }
            }
        }
        #expect(written == .corrupt)
        try queue.close()
        #expect(Array(try scene.bytes().prefix(left.count)).suffix(100) == left.suffix(100))
        // Where the rest is found, it can be put back.
        try scene.write(whole)
        let again = try scene.queue()
        #expect(
            try again.read { try Int.fetchOne($0, sql: "SELECT length(x) FROM t WHERE id = 2") } == 9000)
    }

    @Test(
        "A hot journal beside a file that was cut: the rows are right, or nothing is touched",
        arguments: writable)
    func hotJournal(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        var refused = 0
        for pages in 1..<(hot.main.count / Self.pageSize) {
            let main = Array(hot.main.dropLast(pages * Self.pageSize))
            try hot.restore(main: main)
            guard let code = hot.failureCode() else {
                #expect(try hot.read() == HotFixture.right, "\(pages)")
                continue
            }
            refused += 1
            #expect(code == .corrupt, "\(pages)")
            #expect(try hot.isUntouched(main: main), "\(pages)")
        }
        #expect(refused > 0)
        try hot.restore()
        #expect(try hot.read() == HotFixture.right)
    }

    @Test(
        "A new database whose first transaction was interrupted is a new database again", arguments: writable,
        ["delete", "truncate", "persist"])
    func firstTransaction(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let writer = try scene.queue()
        var (main, log) = ([UInt8](), [UInt8]())
        try writer.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA journal_mode = \(journal); PRAGMA cache_size = 5; BEGIN; CREATE TABLE t (x)")
            for _ in 0..<200 { try db.execute(sql: "INSERT INTO t VALUES (hex(randomblob(900)))") }
            (main, log) = (try scene.bytes(), try scene.bytes("-journal"))
            try db.execute(sql: "ROLLBACK")
        }
        try writer.close()
        #expect(main.count > 20 * Self.pageSize && log.count >= 512)
        func restore(_ changed: [UInt8]? = nil) throws {
            try scene.write(changed ?? main)
            try scene.write(log, "-journal")
        }
        try restore()
        let other = try SecretBytes.copying([UInt8].counting(32, from: 99).span)
        let wrong = try DatabaseKey.raw(other, format: format)
        #expect(
            code {
                let queue = try EncryptedDatabase.queue(at: scene.path, key: wrong)
                _ = try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM sqlite_schema") }
            } == .notAuthentic)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        // Whose it is says the salt in page 1.
        try restore([UInt8](repeating: 0, count: Self.pageSize) + main.dropFirst(Self.pageSize))
        let unwritten = code {
            _ = try scene.queue().read { try Row.fetchAll($0, sql: "SELECT * FROM sqlite_schema") }
        }
        #expect(unwritten == .corrupt)
        #expect(try scene.bytes("-journal") == log)
        for length in [main.count, main.count - 1, 2 * Self.pageSize, Self.pageSize] {
            try restore(Array(main.prefix(length)))
            let queue = try scene.queue()
            let tables = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
            #expect(tables == 0, "\(length)")
            try queue.write { try $0.execute(sql: "CREATE TABLE u (x); INSERT INTO u VALUES (7)") }
            try queue.close()
            let rows = try scene.queue().read { try Int.fetchAll($0, sql: "SELECT x FROM u") }
            #expect(rows == [7], "\(length)")
        }
    }

    /// A header as SQLite writes it, without a seal; it can be written without the key.
    private var journalOfNewDatabase: [UInt8] {
        let fields: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 16, 0]
        let head = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7] + fields
        return head + [UInt8](repeating: 0, count: 512 - head.count)
    }

    @Test("A file that begins with zeros is not emptied by a journal of a new database", arguments: writable)
    func zeros(format: DatabaseFormat) throws {
        let scene = try filled(format)
        let database = [UInt8](repeating: 0, count: 32) + (try scene.bytes().dropFirst(32))
        let image = [UInt8](repeating: 0, count: 100) + [UInt8].counting(40_000)
        for file in [database, image] {
            for keyBytes in [scene.keyBytes, [UInt8].counting(32, from: 99)] {
                try scene.write(file)
                try scene.write(journalOfNewDatabase, "-journal")
                let key = try DatabaseKey.raw(SecretBytes.copying(keyBytes.span), format: format)
                let found = code {
                    let queue = try EncryptedDatabase.queue(at: scene.path, key: key)
                    try queue.write { try $0.execute(sql: "CREATE TABLE u (x)") }
                }
                #expect(found != nil)
                #expect(try scene.bytes() == file)
                #expect(try scene.bytes("-journal") == journalOfNewDatabase)
            }
        }
    }

    @Test("Under a wrong key no file is removed that has the name of a journal", arguments: writable)
    func journalName(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let files: [[UInt8]] = [
            Array("Dear diary".utf8), Array(hot.log.prefix(511)),
            [0x80, 0, 0, 0, 0, 0, 0, 0] + hot.log.dropFirst(8),
        ]
        for log in files {
            try hot.restore(log: log)
            let found = hot.failureCode {
                try .raw(SecretBytes.copying([UInt8].counting(32, from: 99).span), format: format)
            }
            #expect(found == .notAuthentic, "\(log.count)")
            #expect(try hot.isUntouched(log: log), "\(log.count)")
        }
    }

    @Test("A pipe, a device or a directory is no database", arguments: [DatabaseFormat.gcm1, .sqlcipher3])
    func noFile(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        #expect(try CommandRun.run("mkfifo", [scene.pathText], seconds: 20).code == 0)
        #expect(code { _ = try scene.queue() } == .inputOutput)
        try FileManager.default.removeItem(atPath: scene.pathText)
        try FileManager.default.createSymbolicLink(
            atPath: scene.pathText, withDestinationPath: "/dev/null")
        #expect(code { _ = try scene.queue() } == .inputOutput)
    }

    @Test("A rekey removes nothing that merely has the name of an unfinished one")
    func rekeyInTheWay() throws {
        let scene = try filled(.gcm1)
        let place = scene.pathText + "-rekey"
        try FileManager.default.createDirectory(
            atPath: place + "/keep", withIntermediateDirectories: true)
        try Data("notes".utf8).write(to: URL(filePath: place + "/keep/notes.txt"))
        #expect(
            code { try EncryptedDatabase.rekey(at: scene.path, from: scene.key(), to: .random()) }
                == .alreadyExists)
        #expect(FileManager.default.fileExists(atPath: place + "/keep/notes.txt"))
        #expect(try scene.queue().read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }

    @Test("A connection to a file whose name another has taken by now writes nothing and says why")
    func moved() throws {
        let scene = try filled(.gcm1)
        let old = try scene.queue()
        #expect(try old.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
        try EncryptedDatabase.rekey(at: scene.path, from: scene.key(), to: .random())
        #expect(code { try old.write { try $0.execute(sql: "INSERT INTO t VALUES (3, 'x')") } } == .conflict)
    }
}
