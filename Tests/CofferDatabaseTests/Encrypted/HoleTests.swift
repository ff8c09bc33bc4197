import CofferBase
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Pages that SQLite does not write, because they hold nothing, and reads all the same when a database
/// vacuums itself.
@Suite("Pages that SQLite does not write")
struct HoleTests {
    private static let page = 4096

    @Test("Pages that SQLite skips are sealed like any other", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func sealed(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let handle = try DatabaseKeyHandle.register(format, secret: GuardedBytes.copying(scene.keyBytes.span))
        let sql = "CREATE TABLE t (x)"
        let probe = try #require(FileAccessProbe.open(handle.uri(for: scene.path), .main, after: sql))
        let bytes = [UInt8](repeating: 7, count: Self.page - 80)
        let page = bytes + [UInt8](repeating: 0, count: Self.page - bytes.count)
        #expect(probe.write(page, at: Int64(8 * Self.page)) == 0)
        for number in 2..<8 {
            let read = probe.read(Self.page, at: Int64(number * Self.page))
            #expect(read.code == 0 && read.bytes.allSatisfy { $0 == 0 })
        }
        #expect(probe.read(bytes.count, at: Int64(8 * Self.page)).bytes == bytes)
        let stored = try scene.bytes()
        for number in 2..<9 {
            #expect(!stored[(number * Self.page)..<((number + 1) * Self.page)].allSatisfy { $0 == 0 })
        }
        withExtendedLifetime(handle) {}
    }

    @Test("A database that vacuums itself stays whole through many savepoints", arguments: ["off", "full"])
    func savepoints(synchronous: String) throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue(journal: "delete")
        var source = SystemRandomNumberGenerator()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA auto_vacuum = incremental; PRAGMA synchronous = \(synchronous);
                    PRAGMA cache_size = 30; CREATE TABLE t (x UNIQUE, y); CREATE INDEX i ON t (y)
                    """)
            var rows: [Int: String] = [:]
            var stack: [(name: String, rows: [Int: String])] = []
            for _ in 0..<250 {
                let name = "s\(Int.random(in: 0..<5, using: &source))"
                let found = stack.lastIndex { $0.name == name }
                switch (Int.random(in: 0..<6, using: &source), found) {
                case (4, .some(let index)):
                    try db.execute(sql: "RELEASE \(name)")
                    stack.removeSubrange(index...)
                case (5, .some(let index)):
                    try db.execute(sql: "ROLLBACK TO \(name)")
                    rows = stack[index].rows
                    stack.removeSubrange((index + 1)...)
                default:
                    try db.execute(sql: "SAVEPOINT \(name)")
                    stack.append((name, rows))
                }
                let deletes = Bool.random(using: &source)
                for _ in 0..<25 {
                    let x = Int.random(in: 0..<400, using: &source)
                    if deletes {
                        try db.execute(sql: "DELETE FROM t WHERE x = ?", arguments: [x])
                        rows[x] = nil
                    } else {
                        let y = String(repeating: "\(x).", count: Int.random(in: 100..<900, using: &source))
                        try db.execute(sql: "INSERT OR REPLACE INTO t VALUES (?, ?)", arguments: [x, y])
                        rows[x] = y
                    }
                }
                if Int.random(in: 0..<4, using: &source) == 0 {
                    try db.execute(sql: "PRAGMA incremental_vacuum")
                }
                let stored = try Row.fetchAll(db, sql: "SELECT x, y FROM t").map {
                    ($0["x"] as Int, $0["y"] as String)
                }
                #expect(Dictionary(uniqueKeysWithValues: stored) == rows)
            }
            if !stack.isEmpty { try db.execute(sql: "COMMIT") }
            #expect(try integrity(db) == "ok")
        }
    }

    @Test("A cut file gets no pages of zeros in place of the missing ones")
    func cut() throws {
        let scene = try DatabaseFixture()
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: GuardedBytes.copying(scene.keyBytes.span))
        try scene.queue(journal: "wal").write { _ = try fill($0, count: 400) }
        let whole = try scene.bytes()
        // SQLite itself notices when much more is missing.
        let (cut, last) = (whole.count - 10 * Self.page, whole.count - Self.page)
        // As a checkpoint finds it, which writes the last page from a WAL.
        let queue = try scene.queue()
        try queue.write { try $0.execute(sql: "UPDATE t SET body = 'new' WHERE id = 400") }
        let log = try scene.bytes("-wal")
        try queue.close()
        try scene.write(Array(whole.prefix(cut)))
        try scene.write(log, "-wal")
        let again = try scene.queue()
        _ = try again.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try again.close()
        #expect(try scene.bytes().count == whole.count)
        let probe = try #require(FileAccessProbe.open(handle.uri(for: scene.path), .main, after: "SELECT 1"))
        for place in stride(from: cut, to: last, by: Self.page) {
            #expect(probe.read(Self.page, at: Int64(place)).code != 0)
        }
        withExtendedLifetime(handle) {}
    }
}
