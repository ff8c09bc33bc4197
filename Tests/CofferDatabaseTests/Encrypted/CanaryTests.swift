import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import Synchronization
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

@Suite("No plaintext in any file")
struct CanaryTests {
    /// A text that stands nowhere else in this process's files.
    private static func canary() -> String { "CANARY" + UUID().uuidString }

    private func search(_ scene: borrowing DatabaseFixture, _ canary: String) throws -> [String] {
        // The database itself by another process, or SQLite's locks on it would go.
        let run = try CommandRun.run("grep", ["-rlaF", canary, scene.scratch.path.string])
        return run.text.split(separator: "\n").map(String.init)
    }

    /// This process's open files without a name that hold `canary`, and how many such files there are.
    private static func searchNameless(_ canary: String) -> (found: Int, files: Int) {
        var (found, files) = (0, 0)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            let link = "/proc/self/fd/" + name
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
                target.contains("etilqs_"), let data = try? Data(contentsOf: URL(filePath: link)),
                !data.isEmpty
            else { continue }
            files += 1
            if data.range(of: Data(canary.utf8)) != nil { found += 1 }
        }
        return (found, files)
    }

    @Test(
        "13: the database's files hold no plaintext in any journal mode",
        arguments: writable, ["delete", "truncate", "persist", "wal"])
    func filesHoldNone(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let canary = Self.canary()
        let queue = try scene.queue(journal: journal)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10")
            try db.inTransaction {
                try fill(db, count: 300, text: canary)
                return .commit
            }
            try db.execute(sql: "BEGIN; UPDATE t SET body = body || '!'")
            #expect(try search(scene, canary) == [])
            #expect(try scene.scratch.names().count >= 2)
            try db.execute(sql: "COMMIT; DELETE FROM t WHERE id % 3 = 0")
            #expect(try search(scene, canary) == [])
        }
        #expect(try search(scene, canary) == [])
        try queue.close()
        #expect(try search(scene, canary) == [])
        let plain = scene.scratch.path.appending("plain.db")
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key(), to: plain)
        #expect(try search(scene, canary) == [plain.string])
    }

    @Test("13: nameless files are encrypted: of sorts, temporary tables and statements", arguments: writable)
    func namelessFilesHoldNone(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let canary = Self.canary()
        let queue = try scene.queue()
        let seen = Mutex((found: 0, files: 0))
        let look = DatabaseFunction("look", argumentCount: 0) { _ in
            let result = Self.searchNameless(canary)
            seen.withLock { $0 = (max($0.found, result.found), max($0.files, result.files)) }
            return 0
        }
        try queue.writeWithoutTransaction { db in
            db.add(function: look)
            try db.execute(sql: "PRAGMA cache_size = 10; PRAGMA temp_store = FILE")
            try db.inTransaction {
                try fill(db, count: 4000, text: canary)
                return .commit
            }
            // A sort that does not fit, with a look at each of its first rows.
            for _ in try Row.fetchCursor(
                db, sql: "SELECT look() FROM (SELECT body FROM t ORDER BY body DESC LIMIT 3000) LIMIT 1"
            ).map({ _ in }).next() == nil ? [] : [0] {}
            #expect(seen.withLock { $0.found } == 0)
            // A temporary table, and a statement that may have to be undone.
            try db.execute(
                sql: "CREATE TEMP TABLE copy AS SELECT * FROM t; CREATE UNIQUE INDEX u ON t (body)")
            try db.execute(sql: "UPDATE t SET body = body || CASE WHEN id = 3900 THEN look() ELSE 'x' END")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) + look() FROM copy")
        }
        let result = seen.withLock { $0 }
        #expect(result.found == 0)
        #expect(result.files > 0)
    }

    @Test("13: a vacuum leaves nothing in clear while it runs") func vacuumLeavesNone() async throws {
        let scene = try DatabaseFixture()
        let canary = Self.canary()
        let queue = try scene.queue()
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10")
            try db.inTransaction {
                try fill(db, count: 20_000, text: canary)
                return .commit
            }
        }
        // Looks as long as the vacuum goes on, and again until it was seen at work.
        var (found, files, rounds) = (0, 0, 0)
        while files == 0, rounds < 20 {
            rounds += 1
            let isDone = Mutex(false)
            async let vacuum: Void = {
                defer { isDone.withLock { $0 = true } }
                try await queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
            }()
            while !isDone.withLock({ $0 }) {
                let result = Self.searchNameless(canary)
                (found, files) = (max(found, result.found), max(files, result.files))
                await Task.yield()
            }
            try await vacuum
        }
        #expect(found == 0)
        #expect(files > 0)
        #expect(try search(scene, canary) == [])
        #expect(try await queue.read { try integrity($0) } == "ok")
    }
}
