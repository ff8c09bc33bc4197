import CofferBase
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// The files without a name: sorters, temporary databases, the journals of statements and savepoints.
@Suite("Temporary files")
struct TemporaryFileTests {
    /// Ten pairs of versions of one page: three of a process, one each of it and its child after a fork.
    @Test("A rewritten page of a nameless file, also after a fork, has a key stream of its own")
    func keyStreams() throws {
        let scene = try DatabaseFixture()
        func pairs(_ mode: String) throws -> String {
            let run = try CommandRun.run(
                DatabaseAgent.path, [mode, "gcm1", scene.keyBytes.hex, scene.pathText, "delete"], seconds: 60)
            #expect(run.code == 0, "\(run.text) \(run.errorText)")
            return run.text
        }
        // Without a cipher, the comparison finds every pair.
        #expect(try pairs("temporary-plain") == "pairs 10, of one key stream 10\n")
        #expect(try pairs("temporary") == "pairs 10, of one key stream 0\n")
    }

    /// A change of a file, and of what it should hold then.
    private enum Step {
        case write(Range<Int>)
        case cut(Int)
    }

    @Test("A nameless file reads as it was written, in pieces of any size and place", arguments: 1...8)
    func anyPieces(seed: Int) throws {
        let scene = try DatabaseFixture()
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: GuardedBytes.copying(scene.keyBytes.span))
        let sql = """
            PRAGMA temp_store = FILE; CREATE TEMP TABLE t (x); PRAGMA temp.cache_size = 1;
            INSERT INTO t VALUES (randomblob(50000))
            """
        let probe = try #require(
            FileAccessProbe.open(handle.uri(for: scene.pathText), .temporary, after: sql))
        #expect(probe.truncate(to: 0) == 0)
        var source = SystemRandomNumberGenerator()
        var model: [UInt8] = []
        func step(_ step: Step) {
            switch step {
            case .write(let range):
                let bytes = range.map { _ in UInt8.random(in: 0...255, using: &source) }
                #expect(probe.write(bytes, at: Int64(range.lowerBound)) == 0)
                let missing = max(0, range.upperBound - model.count)
                model += [UInt8](repeating: 0, count: missing)
                model.replaceSubrange(range, with: bytes)
            case .cut(let size):
                #expect(probe.truncate(to: Int64(size)) == 0)
                model = Array(model.prefix(size))
            }
        }
        // As SQLite writes: the first pages of a statement journal at once, then numbers and pages by turns.
        step(.write(0..<61_504))
        for index in 0..<6 {
            step(.write(61_504 + index * 4100..<61_508 + index * 4100))
            step(.write(61_508 + index * 4100..<65_604 + index * 4100))
        }
        for _ in 0..<120 {
            let start = Int.random(in: 0..<100_000, using: &source)
            let size = [1, 4, 16, 513, 4096, 4100, 9000, 20_000].randomElement(using: &source) ?? 1
            let isAligned = Bool.random(using: &source)
            let place = isAligned ? start / 4096 * 4096 : start
            if Int.random(in: 0..<12, using: &source) == 0, place < model.count {
                step(.cut(place))
            } else {
                step(.write(place..<place + size))
            }
            let from = Int.random(in: 0...model.count, using: &source)
            let count = min(Int.random(in: 1...12_000, using: &source), model.count - from)
            guard count > 0 else { continue }
            let read = probe.read(count, at: Int64(from))
            #expect(read.code == 0)
            #expect(read.bytes == Array(model[from..<from + count]), "\(count) at \(from)")
        }
        step(.write(0..<6000))
        // At the end there is less than is asked for; the rest reads as zeros.
        let last = probe.read(5000, at: Int64(model.count) - 100)
        #expect(last.code == 10 | 2 << 8)
        #expect(last.bytes == Array(model.suffix(100)) + [UInt8](repeating: 0, count: 4900))
        #expect(probe.read(16, at: -1).code == 10)
        withExtendedLifetime(handle) {}
    }

    // MARK: Canaries

    /// This process's open files that hold `canary`: with their names, where they have one.
    private static func search(_ canary: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { name in
            let link = "/proc/self/fd/" + name
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
                target.contains("etilqs_"), let data = try? Data(contentsOf: URL(filePath: link)),
                data.range(of: Data(canary.utf8)) != nil
            else { return nil }
            return target
        }
    }

    /// Statements for which SQLite writes unnamed files. The files are read at each call and first row. The
    /// journal of a statement or savepoint takes only pages that the transaction changed before. The
    /// temporary table stays, so it comes last.
    private static let works = [
        (
            "a statement's journal",
            """
            BEGIN; UPDATE t SET body = body || 'w';
            UPDATE t SET body = body || CASE WHEN id = 3900 THEN look() ELSE 'x' END; COMMIT
            """
        ),
        (
            "a savepoint's journal",
            """
            BEGIN; UPDATE t SET body = body || 'y'; SAVEPOINT s; UPDATE t SET body = body || 'z';
            SELECT 1; ROLLBACK TO s; SELECT 1; COMMIT
            """
        ),
        ("a sort", "SELECT body FROM t ORDER BY body || '' DESC"),
        ("a temporary table", "CREATE TEMP TABLE copy AS SELECT * FROM t; SELECT count(*) FROM copy"),
    ]

    /// In how many of its looks a database's nameless files held the canary, for each of the works.
    private func looks(_ queue: DatabaseQueue) throws -> [String: (looks: Int, found: Int)] {
        let canary = "CANARY" + UUID().uuidString
        let seen = Mutex((looks: 0, found: 0))
        let look: @Sendable () -> Void = {
            let found = Self.search(canary)
            seen.withLock { $0 = ($0.looks + 1, $0.found + (found.isEmpty ? 0 : 1)) }
        }
        let function = DatabaseFunction("look", argumentCount: 0) { _ in
            look()
            return 0
        }
        var result: [String: (looks: Int, found: Int)] = [:]
        try queue.writeWithoutTransaction { db in
            db.add(function: function)
            try db.execute(
                sql: "PRAGMA cache_size = 10; PRAGMA temp_store = FILE; PRAGMA temp.cache_size = 10")
            try db.inTransaction {
                try fill(db, count: 4000, text: canary)
                return .commit
            }
            try db.execute(sql: "CREATE UNIQUE INDEX u ON t (body)")
            for (name, sql) in Self.works {
                seen.withLock { $0 = (0, 0) }
                let statements = try db.allStatements(sql: sql)
                while let statement = try statements.next() {
                    let rows = try Row.fetchCursor(statement)
                    if try rows.next() != nil { look() }
                    while try rows.next() != nil {}
                }
                result[name] = seen.withLock { $0 }
            }
        }
        return result
    }

    @Test(
        "No nameless file holds plaintext where those of plain SQLite do",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func namelessFilesHoldNone(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let plain = try looks(DatabaseQueue(path: scene.scratch.path.appending("plain.db").string))
        let encrypted = try looks(scene.queue(journal: "delete"))
        for (name, _) in Self.works {
            // The search finds what is there.
            #expect(plain[name]?.found ?? 0 > 0, "\(name)")
            let result = try #require(encrypted[name])
            #expect(result.looks > 0 && result.found == 0, "\(name)")
        }
    }

    @Test("A super-journal takes the names of journals: two databases change together")
    func superJournal() throws {
        let first = try DatabaseFixture()
        let second = try DatabaseFixture()
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: GuardedBytes.copying(second.keyBytes.span))
        let queue = try first.queue(journal: "delete")
        try second.queue(journal: "delete").write { _ = try fill($0, count: 50) }
        try queue.writeWithoutTransaction { db in
            try fill(db, count: 50)
            try db.execute(sql: "ATTACH '\(handle.uri(for: second.pathText))' AS other")
            try db.execute(
                sql: "BEGIN; UPDATE main.t SET body = 'both'; UPDATE other.t SET body = 'both'; COMMIT")
        }
        try queue.close()
        for queue in [try first.queue(), try second.queue()] {
            let count = try queue.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM t WHERE body = 'both'")
            }
            #expect(count == 50)
        }
        withExtendedLifetime(handle) {}
    }
}
