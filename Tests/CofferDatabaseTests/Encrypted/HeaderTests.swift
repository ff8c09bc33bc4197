@testable import CofferEngineSQLite
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import Testing
import TestSupport

/// Whether Python has what the independent reader needs.
private let hasReader =
    (try? CommandRun.run(
        "python3", ["-c", "from cryptography.hazmat.primitives.kdf.argon2 import Argon2id"]
    ).code) == 0

/// The clear bytes that a `gcm1` database begins with, of both versions.
@Suite("Headers of gcm1 databases")
struct HeaderTests {
    private static let least = Argon2id.Cost.floor

    private func key(_ text: String, cost: Argon2id.Cost? = nil, expensive: Bool = false) throws
        -> DatabaseKey
    {
        try .passphrase(SecretBytes.copying(text), cost: cost, allowingExpensive: expensive)
    }

    /// A closed database under the passphrase "correct horse", with one row.
    private func make(_ scene: borrowing DatabaseFixture, cost: Argon2id.Cost = Self.least) throws {
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key("correct horse", cost: cost))
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('there')")
        }
        try queue.close()
    }

    private func row(_ scene: borrowing DatabaseFixture, _ key: borrowing DatabaseKey) throws -> String? {
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key)
        defer { try? queue.close() }
        return try queue.read { try String.fetchOne($0, sql: "SELECT x FROM t") }
    }

    @Test("A new database says in its header what its passphrase costs, with a salt of 16 bytes")
    func newHeader() throws {
        let scene = try DatabaseFixture()
        let other = try DatabaseFixture()
        try make(scene)
        try make(other)
        let first = try scene.bytes().prefix(32)
        #expect(first.prefix(16).elementsEqual(Array("COFFERG1".utf8) + [2, 48, 2, 1, 0, 0, 0x20, 0]))
        #expect(try first.suffix(16) != other.bytes().prefix(32).suffix(16))
        #expect(try row(scene, key("correct horse")) == "there")
        #expect(failure { _ = try row(scene, key("wrong horse")) } == .notAuthentic)
        #expect(failure { _ = try row(scene, scene.key()) } == .notAuthentic)
        // Under a key, nothing is derived, and nothing can be from a passphrase.
        let raw = try DatabaseFixture()
        let queue = try raw.queue()
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        let start = Array("COFFERG1".utf8) + [2, 48, 0, 0, 0, 0, 0, 0]
        #expect(try raw.bytes().starts(with: start))
        #expect(failure { _ = try row(raw, key("correct horse")) } == .notAuthentic)
    }

    @Test("A database that an earlier release made is read and written on as it is")
    func firstVersion() throws {
        let scene = try DatabaseFixture()
        let fixture = URL(filePath: PackageRoot.path + "Tests/Independent/gcm1-version1.db")
        let before = [UInt8](try Data(contentsOf: fixture))
        try scene.write(before)
        for journal in ["delete", "wal"] {
            let queue = try EncryptedDatabase.queue(at: scene.path, key: key("correct horse"))
            try queue.writeWithoutTransaction { db in
                #expect(try String.fetchOne(db, sql: "SELECT body FROM t") == "version 1")
                try db.execute(sql: "PRAGMA journal_mode = \(journal)")
                try db.execute(sql: "INSERT INTO t (body) VALUES ('more')")
                try db.execute(sql: "VACUUM")
                #expect(try integrity(db) == "ok")
            }
            try queue.close()
        }
        #expect(try scene.bytes().prefix(16) == before.prefix(16))
        #expect(before[8] == 1)
        #expect(failure { _ = try row(scene, key("wrong horse")) } == .notAuthentic)
        // A new key, or a copy, has the new header.
        try EncryptedDatabase.rekey(
            at: scene.path, from: key("correct horse"), to: key("correct horse", cost: Self.least))
        #expect(try scene.bytes()[8] == 2)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key("correct horse"))
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3)
    }

    @Test("A salt of 6 bytes is one of the first version: the key opens what it made before")
    func firstSalt() throws {
        let scene = try DatabaseFixture()
        func key(_ salt: [UInt8]) throws -> DatabaseKey {
            try .raw(SecretBytes.copying(scene.keyBytes.span), salt: salt)
        }
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key(.counting(6)))
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('there')")
        }
        try queue.close()
        let start = Array("COFFERG1".utf8) + [1, 48] + [UInt8].counting(6)
        #expect(try scene.bytes().starts(with: start))
        #expect(try row(scene, key(.counting(6))) == "there")
        #expect(try row(scene, scene.key()) == "there")
        for salt in [[UInt8].counting(6, from: 9), .counting(16)] {
            #expect(failure { _ = try row(scene, key(salt)) } == .notAuthentic)
        }
    }

    @Test("A changed bit of the header is an error that changes nothing; the right header opens it")
    func changedBits() throws {
        let scene = try DatabaseFixture()
        try make(scene)
        let whole = try scene.bytes()
        for place in 0..<32 {
            var changed = whole
            // Not so high that half a gigabyte is derived.
            changed[place] ^= 1 << UInt8.random(in: 0..<(place == 13 ? 4 : 8))
            try scene.write(changed)
            let code = failure { _ = try row(scene, key("correct horse")) }
            let expected: [CofferError.Code?] =
                switch place {
                case 0..<8: [.foreign]
                case 8: [.unsupportedVersion, .notAuthentic]
                case 9: [.notAuthentic, .corrupt]
                case 10..<16: [.notAuthentic, .refused]
                default: [.notAuthentic]
                }
            #expect(expected.contains(code), "byte \(place): \(String(describing: code))")
            #expect(try scene.bytes() == changed)
        }
        try scene.write(whole)
        #expect(try row(scene, key("correct horse")) == "there")
    }

    @Test(
        "Another salt or cost, or another passphrase, on a hot journal or WAL: it stays, and helps later",
        arguments: ["delete", "persist", "wal"])
    func hotJournal(journal: String) throws {
        let scene = try DatabaseFixture()
        let suffix = journal == "wal" ? "-wal" : "-journal"
        let queue = try EncryptedDatabase.queue(
            at: scene.path, key: key("correct horse", cost: Self.least))
        let hot = scene.scratch.path.appending("hot.db").string
        let numbers = "'\(Array(1...300))'"
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = \(journal)")
            try db.execute(sql: "PRAGMA cache_size = 10; CREATE TABLE t (x); INSERT INTO t VALUES ('there')")
            if journal != "wal" {
                try db.execute(sql: "BEGIN; UPDATE t SET x = 'lost'; CREATE TABLE u (x)")
                try db.execute(sql: "INSERT INTO u SELECT randomblob(900) FROM t, json_each(\(numbers))")
            }
            // As a kill would leave them; by another process, or the locks would go.
            for part in ["", suffix] {
                #expect(try CommandRun.run("cp", [scene.pathText + part, hot + part]).code == 0)
            }
            if db.isInsideTransaction { try db.rollback() }
        }
        try queue.close()
        func bytes(_ part: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(filePath: hot + part)))
        }
        func open(_ text: String) throws -> String? {
            do {
                return try EncryptedDatabase.queue(at: FilePath(hot), key: key(text)).read {
                    try String.fetchOne($0, sql: "SELECT x FROM t")
                }
            } catch { throw EncryptedDatabase.failure(error) }
        }
        let (main, log) = (try bytes(""), try bytes(suffix))
        #expect(log.count > 4096)
        for place in [10, 11, 14, 15, 16, 31] {
            var changed = main
            changed[place] ^= 1
            try Data(changed).write(to: URL(filePath: hot))
            let code = failure { _ = try open("correct horse") }
            #expect(code == .notAuthentic || code == .refused, "byte \(place)")
            #expect(try bytes("") == changed)
            #expect(try bytes(suffix) == log)
        }
        try Data(main).write(to: URL(filePath: hot))
        #expect(failure { _ = try open("wrong horse") } == .notAuthentic)
        #expect(try bytes("") == main)
        #expect(try bytes(suffix) == log)
        #expect(try open("correct horse") == "there")
    }

    // MARK: Cost

    private func setCost(_ scene: borrowing DatabaseFixture, passes: UInt8, lanes: UInt8 = 1, memoryKiB: Int)
        throws
    {
        var bytes = try scene.bytes()
        bytes.replaceSubrange(
            10..<16,
            with: [passes, lanes] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: memoryKiB >> $0) })
        try scene.write(bytes)
    }

    @Test("A foreign file's cost is checked before any derivation; a greater one needs consent")
    func boundedCost() throws {
        let scene = try DatabaseFixture()
        try make(scene)
        func message(expensive: Bool = false) -> CofferError? {
            do {
                _ = try row(scene, key("correct horse", expensive: expensive))
            } catch { return error as? CofferError }
            return nil
        }
        for (passes, memory) in [(3, 1 << 20 + 1), (17, 8192), (64, 4 << 20), (16, 2 << 20)] {
            try setCost(scene, passes: UInt8(passes), memoryKiB: memory)
            let error = message()
            #expect(error?.code == .refused)
            #expect(error?.remedy == .allowExpensiveDerivation)
        }
        // Granted, it is derived, and is not the database's.
        try setCost(scene, passes: 17, memoryKiB: 8192)
        #expect(message(expensive: true)?.code == .notAuthentic)
        // Costs that no release writes are refused even when expensive ones are allowed.
        for (passes, lanes, memory) in [
            (65, 1, 8192), (3, 1, 4 << 20 + 1), (2, 2, 8192), (2, 0, 8192),
            (1, 1, 8192), (2, 1, 8191), (2, 1, 0), (255, 255, 0xffff_ffff),
        ] {
            try setCost(scene, passes: UInt8(passes), lanes: UInt8(lanes), memoryKiB: memory)
            let error = message(expensive: true)
            #expect(error?.code == .refused)
            #expect(error?.message.contains("out of bounds") == true)
        }
        try setCost(scene, passes: 2, memoryKiB: 8192)
        #expect(try row(scene, key("correct horse")) == "there")
    }

    @Test("The owner's cost above the bounds needs no consent; a foreign one does")
    func ownCost() throws {
        let scene = try DatabaseFixture()
        let cost = try Argon2id.Cost(memoryKiB: 8192, passes: 17)
        try make(scene, cost: cost)
        #expect(try row(scene, key("correct horse", cost: cost)) == "there")
        #expect(failure { _ = try row(scene, key("correct horse")) } == .refused)
        #expect(try row(scene, key("correct horse", expensive: true)) == "there")
        let code = failure {
            _ = try DatabaseKey.passphrase(SecretBytes.copying("a"), format: .sqlcipher4, cost: cost)
        }
        #expect(code == .invalidInput)
    }

    @Test("Nothing is derived for a file whose cost is refused")
    func refusedCost() throws {
        let floor = DerivationCost(memoryKiB: Self.least.memoryKiB, passes: Self.least.passes)
        let handle = try DatabaseKeyHandle.register(
            .gcm1, secret: GuardedBytes.copying(Array("correct horse".utf8).span),
            costs: DerivationCosts(own: floor, floor: floor, granted: floor, ceiling: floor))
        let salt = [UInt8].counting(16)
        for passes in [UInt8(1), 3, 255] {
            let header = Array("COFFERG1".utf8) + [2, 48, passes, 1, 0, 0, 0x20, 0] + salt
            let codec = try #require(handle.entry.codec(first: header))
            #expect(!(codec is GCMCodec))
            // It has neither key nor seal.
            let pages = (Scratch(count: codec.pageSize), Scratch(count: codec.pageSize))
            #expect(!codec.seal(pages.0.region, number: 1, into: pages.1.region))
            #expect(!codec.open(pages.1.region, number: 1))
        }
        #expect(handle.entry.codec(first: nil) is GCMCodec)
    }

    // MARK: SQLite's header

    @Test("Stock SQLite takes the file for no database, whatever page size it reads in the salt")
    func stockSQLite() throws {
        let scene = try DatabaseFixture()
        // Where SQLite looks for the page size: 4096.
        let salt = [0x10, 0x00, 1, 1, 48, 64, 32, 32] + [UInt8].counting(8)
        let key = try DatabaseKey.raw(SecretBytes.copying(scene.keyBytes.span), salt: salt)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key)
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        let before = try scene.bytes()
        #expect(before[16..<32].elementsEqual(salt))
        let error = #expect(throws: DatabaseError.self) {
            try DatabaseQueue(path: scene.pathText).write { try $0.execute(sql: "CREATE TABLE x (y)") }
        }
        #expect(error?.resultCode == .SQLITE_NOTADB)
        #expect(try scene.bytes() == before)
    }

    @Test("A first page that uses the bytes which SQLite reserves is refused, not cut")
    func reservedBytes() throws {
        let scene = try DatabaseFixture()
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: GuardedBytes.copying(scene.keyBytes.span))
        let sql = "CREATE TABLE t (x)"
        let probe = try #require(FileAccessProbe.open(handle.uri(for: scene.path), .main, after: sql))
        var page = probe.read(4096, at: 0).bytes
        #expect(page[72..<92].allSatisfy { $0 == 0 } && page.starts(with: Array("SQLite format 3".utf8)))
        #expect(probe.write(page, at: 0) == 0)
        for place in [72, 80, 87] {
            page[place] = 1
            #expect(probe.write(page, at: 0) & 0xff == 8)
            page[place] = 0
        }
        // The four bytes of them that nothing stands for are kept.
        page[88] = 1
        #expect(probe.write(page, at: 0) == 0)
        #expect(probe.read(4096, at: 0).bytes == page)
    }

    // MARK: An independent reader

    @Test(
        "A program in another language decrypts it from its description, and finds a changed byte",
        .enabled(if: hasReader, "python3 with its module cryptography is missing"),
        arguments: ["first", "passphrase", "key", "wide"])
    func independentReader(kind: String) throws {
        let scene = try DatabaseFixture()
        let passphrase = try key("correct horse", cost: Self.least)
        switch kind {
        case "first":
            let fixture = URL(filePath: PackageRoot.path + "Tests/Independent/gcm1-version1.db")
            try scene.write([UInt8](try Data(contentsOf: fixture)))
        case "passphrase":
            try EncryptedDatabase.queue(at: scene.path, key: passphrase).write { _ = try fill($0, count: 90) }
        case "key": try scene.queue().write { _ = try fill($0, count: 90) }
        default:
            // From SQLCipher's format, whose pages keep more room.
            let source = try DatabaseFixture(.sqlcipher4)
            try source.queue().write { _ = try fill($0, count: 90) }
            try EncryptedDatabase.convert(source.path, key: source.key(), to: scene.path, newKey: passphrase)
        }
        let reader = PackageRoot.path + "Tests/Independent/read_database.py"
        let secret = kind == "key" ? Array(scene.keyBytes.hex.utf8) : Array("correct horse\n".utf8)
        func read() throws -> CommandRun {
            try CommandRun.run(
                "python3",
                [reader, scene.pathText, kind == "key" ? "--key-hex-fd" : "--passphrase-fd", "3"],
                descriptors: [3: secret])
        }
        let plain = try read()
        #expect(plain.code == 0, "\(plain.errorText)")
        let path = scene.scratch.path.appending("plain.db").string
        try Data(plain.output).write(to: URL(filePath: path))
        try DatabaseQueue(path: path).read { db in
            let (state, count) = (try integrity(db), try Int.fetchOne(db, sql: "SELECT count(*) FROM t"))
            #expect(state == "ok" && count == (kind == "first" ? 1 : 90))
        }
        var bytes = try scene.bytes()
        bytes[Int.random(in: 16..<4096)] ^= 4
        try scene.write(bytes)
        #expect(try read().code == 1)
    }
}
