import CofferBase
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import Testing
import TestSupport

private let pageSize = 4096
/// SQLite's own words for what these tests look at.
private enum SQLiteCode {
    static let ok: Int32 = 0
    static let inputOutput: Int32 = 10
    static let onlyPowersafeOverwrite: Int32 = 0x1000
}

/// The rules of the VFS that no statement of SQL shows: accesses that SQLite does not make, locks, what is
/// known not to be detected.
@Suite("Limits of the VFS")
struct ShimLimitTests {
    private func probe(
        _ scene: borrowing DatabaseFixture, _ file: FileAccessProbe.File, _ format: CodecFormat,
        after sql: String
    ) throws -> (FileAccessProbe, DatabaseKeyHandle) {
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(format, secret: key)
        return (try #require(FileAccessProbe.open(handle.uri(for: scene.pathText), file, after: sql)), handle)
    }

    private static let tables = "CREATE TABLE t (x); INSERT INTO t VALUES (hex(randomblob(9000)))"

    @Test(
        "10: a part of a page reads as that part of it, anything else of the database file is an error",
        arguments: [CodecFormat.gcm1, .sqlcipher4])
    func mainShapes(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let (file, handle) = try probe(scene, .main, format, after: Self.tables)
        let page = file.read(pageSize, at: Int64(pageSize))
        #expect(page.code == SQLiteCode.ok)
        let part = file.read(77, at: Int64(pageSize) + 200)
        #expect(part.code == SQLiteCode.ok)
        #expect(part.bytes == Array(page.bytes[200..<277]))
        #expect(file.read(10, at: Int64(pageSize) - 5).code == SQLiteCode.inputOutput)
        #expect(file.read(2 * pageSize, at: 0).code == SQLiteCode.inputOutput)
        #expect(file.read(10, at: -1).code == SQLiteCode.inputOutput)
        let before = try CommandRun.run("sha256sum", [scene.pathText]).text
        for (count, offset) in [(1, 0), (100, 0), (pageSize, 512), (2 * pageSize, 0), (1024, pageSize)] {
            let written = file.write([UInt8](repeating: 65, count: count), at: Int64(offset))
            #expect(written == SQLiteCode.inputOutput, "\(count) at \(offset)")
        }
        #expect(try CommandRun.run("sha256sum", [scene.pathText]).text == before)
        #expect(handle.format == format)
    }

    @Test(
        "10: a WAL and a journal take nothing of a shape that they do not know", arguments: ["wal", "delete"])
    func journalShapes(journal: String) throws {
        let scene = try DatabaseFixture()
        let sql = "PRAGMA journal_mode = \(journal); \(Self.tables); BEGIN; UPDATE t SET x = 'other'"
        let (file, handle) = try probe(
            scene, .journal, .gcm1, after: sql + (journal == "wal" ? "; COMMIT" : ""))
        let text = Array("plain text that nobody may find".utf8)
        for offset in [Int64(0), 40, 4152] {
            #expect(file.write(text, at: offset) == SQLiteCode.inputOutput)
            #expect(file.write([UInt8](repeating: 65, count: 5000), at: offset) == SQLiteCode.inputOutput)
        }
        #expect(file.read(5000, at: 0).code == SQLiteCode.inputOutput)
        let found = try CommandRun.run("grep", ["-rlaF", "plain text", scene.scratch.path.string])
        #expect(found.text.isEmpty)
        #expect(handle.format == .gcm1)
    }

    @Test(
        "A frame header whose page never comes is dropped; a page follows its own header only",
        arguments: [CodecFormat.gcm1, .sqlcipher4])
    func headerWithoutPage(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let (file, handle) = try probe(
            scene, .journal, format, after: "PRAGMA journal_mode = WAL; " + Self.tables)
        let log = try scene.bytes("-wal")
        let end = Int64(log.count)
        // Page 2, of a transaction that is not complete; SQLite leaves the checksum for later.
        let header: [UInt8] = [0, 0, 0, 2, 0, 0, 0, 0] + log[16..<24] + [UInt8](repeating: 0, count: 8)
        let page = [UInt8](repeating: 0, count: pageSize)
        let accesses: [(FileAccessProbe) -> Int32] = [
            { $0.read(32, at: 0).code }, { $0.write(header, at: end + 24 + Int64(pageSize)) },
            { $0.write(header, at: end) },
        ]
        for (index, access) in accesses.enumerated() {
            #expect(file.write(header, at: end) == SQLiteCode.ok)
            #expect(access(file) == SQLiteCode.ok, "\(index)")
            let isSame = index == 2
            #expect((file.write(page, at: end + 24) == SQLiteCode.ok) == isSame, "\(index)")
            #expect(try scene.bytes("-wal").count == log.count + (isSame ? 24 + pageSize : 0), "\(index)")
        }
        #expect(try Array(scene.bytes("-wal").prefix(log.count)) == log)
        #expect(handle.format == format)
    }

    @Test("11 and 12: sectors of 512 bytes, powersafe overwrite and no more, no memory mapping")
    func characteristics() throws {
        let scene = try DatabaseFixture()
        let (file, handle) = try probe(scene, .main, .gcm1, after: Self.tables)
        #expect(file.sectorSize == 512)
        #expect(file.characteristics == SQLiteCode.onlyPowersafeOverwrite)
        #expect(file.version == 2)
        #expect(handle.format == .gcm1)
    }

    @Test("14: a read or write that fails below fails above, and nothing that was committed is lost")
    func failingDisk() throws { try steps("work", every: 150) }

    @Test("A rekey that is killed anywhere leaves the old database or the new one")
    func killedRekey() throws { try steps("rekey", every: 12) }

    @Test("A soup whose alteration is killed anywhere is finished when its store is opened")
    func killedAlteration() throws { try steps("alter", every: 45) }

    /// A sample of Tests/Faults/database_steps.py.
    private func steps(_ operation: String, every: Int) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Faults/database_steps.py", DatabaseAgent.path, "--operations",
                operation, "--every", "\(every)",
            ], seconds: 300)
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
    }

    /// Another process tries to write-lock the byte that a writer of a rollback database holds.
    private func isLocked(_ scene: borrowing DatabaseFixture) throws -> Bool {
        let script = """
            import fcntl, sys
            with open(sys.argv[1], "r+b") as file:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0x40000001)
                except OSError:
                    sys.exit(3)
            """
        return try CommandRun.run("python3", ["-c", script, scene.pathText]).code == 3
    }

    @Test("18: no operation of this package on a database releases the locks that SQLite holds on it")
    func locksStay() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue(journal: "delete")
        try queue.write { _ = try fill($0, count: 20) }
        #expect(try !isLocked(scene))
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; UPDATE t SET body = 'changed'")
            #expect(try isLocked(scene))
            // Opened and closed again: with the key, with a wrong one, in another format, as plain.
            let another = try scene.queue()
            #expect(try another.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 20)
            try another.close()
            _ = failure { _ = try EncryptedDatabase.queue(at: scene.path, key: .random()) }
            _ = failure { _ = try EncryptedDatabase.queue(at: scene.path, key: .random(format: .sqlcipher4)) }
            #expect(throws: DatabaseError.self) { try DatabaseQueue(path: scene.pathText) }
            #expect(try isLocked(scene))
            // Copied, and refused to be encrypted again.
            let copy = scene.scratch.path.appending("copy.db")
            try EncryptedDatabase.convert(scene.path, key: scene.key(), to: copy, newKey: .random())
            try db.execute(sql: "ROLLBACK; BEGIN IMMEDIATE; UPDATE t SET body = 'again'")
            #expect(try isLocked(scene))
            try db.execute(sql: "COMMIT")
        }
        #expect(try !isLocked(scene))
    }

    @Test("21: connections of several threads each have their own ciphers")
    func ciphersOfManyThreads() async throws {
        let scene = try DatabaseFixture()
        let pool = try scene.pool()
        let sum = try await pool.write { try fill($0, count: 300) }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var last: Int?
                    for _ in 0..<10 {
                        last = try await pool.read {
                            $0.clearSchemaCache()
                            return try Int.fetchOne($0, sql: "SELECT sum(length(body)) FROM t")
                        }
                    }
                    return last
                }
            }
            group.addTask {
                for _ in 0..<20 { try await pool.write { try $0.execute(sql: "UPDATE t SET body = body") } }
                return sum
            }
            for try await read in group { #expect(read == sum) }
        }
        #expect(try await pool.read { try integrity($0) } == "ok")
    }

    @Test("23: an old version of a page put back opens: this is known, and SECURITY.md says so")
    func oldPage() throws {
        let scene = try DatabaseFixture()
        try scene.queue(journal: "delete").write { db in
            try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('old')")
        }
        let old = try scene.bytes()
        try scene.queue().write { try $0.execute(sql: "UPDATE t SET x = 'new'") }
        var mixed = try scene.bytes()
        #expect(mixed.count == 2 * pageSize && mixed[pageSize...] != old[pageSize...])
        mixed.replaceSubrange(pageSize..., with: old[pageSize...])
        try scene.write(mixed)
        #expect(try scene.queue().read { try String.fetchOne($0, sql: "SELECT x FROM t") } == "old")
        let notice = try String(contentsOfFile: PackageRoot.path + "SECURITY.md", encoding: .utf8)
        #expect(notice.contains("old version"))
    }

    @Test("A torn tail of a WAL loses the transactions that it holds and none before", arguments: [10, 3000])
    func tornWAL(back: Int) throws {
        let scene = try DatabaseFixture()
        let arguments = [scene.format.rawValue, scene.keyBytes.hex, scene.pathText, "wal", "100"]
        let agent = try #require(Helper([DatabaseAgent.path, "hot"] + arguments))
        agent.kill()
        let whole = try scene.bytes("-wal")
        let queue = try scene.queue()
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; INSERT INTO t (body) VALUES ('last')")
            for suffix in ["", "-wal"] {
                let run = try CommandRun.run(
                    "cp", [scene.pathText + suffix, scene.pathText + ".crash" + suffix])
                #expect(run.code == 0)
            }
        }
        var torn = try scene.bytes(".crash-wal")
        #expect(torn.count > whole.count)
        for index in (torn.count - back)..<torn.count { torn[index] ^= 0x55 }
        try scene.write(torn, ".crash-wal")
        let crashed = try EncryptedDatabase.queue(at: scene.pathText + ".crash", key: scene.key())
        #expect(try crashed.read { try integrity($0) } == "ok")
        #expect(try crashed.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 100)
    }
}
