import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import Testing
import TestSupport

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// Several connections, with a salt of their own each, that make one database at the same time.
@Suite("Databases that several connections make at once")
struct CreationTests {
    @Test(
        "A connection that opened a database before another made it finds the rows", arguments: writable,
        ["wal", "delete"])
    func overtaken(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let early = try scene.queue()
        let queue = try scene.queue(journal: journal)
        try queue.write { _ = try fill($0, count: 50) }
        #expect(try early.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 50)
        try early.write { _ = try fill($0, count: 50) }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 100)
        #expect(try queue.read { try integrity($0) } == "ok")
    }

    @Test("Processes that make one database at once all open it", arguments: writable)
    func together(format: DatabaseFormat) throws {
        let script = "for number in 1 2 3 4 5; do \"$@\" & done; wait"
        for _ in 0..<5 {
            let scene = try DatabaseFixture(format)
            let run = try CommandRun.run(
                "sh",
                [
                    "-c", script, "sh", DatabaseAgent.path, "create", format.rawValue, scene.keyBytes.hex,
                    scene.pathText, "wal",
                ], seconds: 60)
            #expect(run.text.split(separator: "\n") == Array(repeating: "ready", count: 5), "\(run.text)")
        }
    }

    @Test(
        "A planted header is not kept when no page opens under it",
        arguments: ["", "-wal", "-journal"])
    func laidHeader(beside suffix: String) throws {
        let scene = try DatabaseFixture()
        func key(_ cost: Argon2id.Cost?) throws -> DatabaseKey {
            try .passphrase(SecretBytes.copying("correct horse"), cost: cost)
        }
        let cost = try Argon2id.Cost(memoryKiB: 8192, passes: 3)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key(cost))
        // The lowest cost, and a salt that an attacker chose.
        let cheap =
            Array("COFFERG1".utf8) + [2, 48, 2, 1, 0, 0, 0x20, 0] + [UInt8](repeating: 0x41, count: 16)
        try overwrite(scene, cheap + [UInt8](repeating: 0, count: 4064))
        if suffix != "" {
            // A log or a journal of another database.
            let other = try DatabaseFixture()
            let writer = try other.queue(journal: suffix == "-wal" ? "wal" : "persist")
            for _ in 0..<2 { try writer.write { _ = try fill($0, count: 50) } }
            try scene.write(other.bytes(suffix), suffix)
            try writer.close()
        }
        #expect(throws: DatabaseError.self) {
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        }
        try overwrite(scene, [])
        if suffix != "" { try FileManager.default.removeItem(atPath: scene.pathText + suffix) }
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        let start = Array("COFFERG1".utf8) + [2, 48, 3, 1, 0, 0, 0x20, 0]
        #expect(try scene.bytes().starts(with: start))
        #expect(try scene.bytes()[16..<32] != cheap[16..<32])
        let again = try EncryptedDatabase.queue(at: scene.path, key: key(nil))
        #expect(try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 5)
    }

    @Test(
        "A connection opened early recovers what a killed writer left",
        arguments: writable, ["wal", "delete", "persist"])
    func overtakenByCrash(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        // The same key, on a file that is empty yet, with a salt of its own.
        let scene = try DatabaseFixture(format)
        let early = try scene.queue()
        try scene.write(hot.log, hot.suffix)
        try overwrite(scene, hot.main)
        let rows = try early.read { try String.fetchAll($0, sql: "SELECT body FROM t ORDER BY id") }
        #expect(rows == HotFixture.right)
        #expect(try early.read { try integrity($0) } == "ok")
    }

    /// Puts other bytes into the file, which stays the same one; by another process, or the locks would go.
    private func overwrite(_ scene: borrowing DatabaseFixture, _ bytes: [UInt8]) throws {
        let source = scene.pathText + ".new"
        try Data(bytes).write(to: URL(filePath: source))
        #expect(try CommandRun.run("cp", [source, scene.pathText]).code == 0)
    }
}
