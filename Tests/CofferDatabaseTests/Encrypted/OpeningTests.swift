import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

@Suite("Opening encrypted databases")
struct OpeningTests {
    @Test(
        "A database reads as it was written, in every journal mode",
        arguments: writable, ["delete", "truncate", "persist", "wal", "memory"])
    func whatIsWrittenIsRead(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseFixture(format)
        let sum = try scene.queue(journal: journal).write { try fill($0, count: 500) }
        let queue = try scene.queue()
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT sum(length(body)) FROM t") } == sum)
        #expect(try queue.read { try integrity($0) } == "ok")
    }

    @Test("The database and its WAL are accessible to their owner alone", arguments: writable)
    func newFilesAreForTheirOwnerAlone(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let pool = try scene.pool()
        try pool.write { _ = try fill($0, count: 10) }
        for suffix in ["", "-wal", "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: scene.path.string + suffix)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
        }
    }

    @Test("A pool reads what it wrote, before and after a checkpoint", arguments: writable)
    func poolReadsWhileItWrites(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let pool = try scene.pool()
        let sum = try pool.write { try fill($0, count: 300) }
        for _ in 0..<5 {
            #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT sum(length(body)) FROM t") } == sum)
        }
        try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        #expect(try pool.read { try integrity($0) } == "ok")
    }

    @Test("A wrong key is not authentic and leaves the file as it is", arguments: writable)
    func wrongKeyIsNotAuthentic(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 50) }
        let wrong: [UInt8] = .counting(32, from: 8)
        let before = try scene.bytes()
        #expect(
            failure {
                _ = try EncryptedDatabase.queue(
                    at: scene.path, key: .raw(SecretBytes.copying(wrong.span), format: format))
            } == .notAuthentic)
        #expect(
            failure {
                _ = try EncryptedDatabase.pool(
                    at: scene.path, key: .raw(SecretBytes.copying(wrong.span), format: format))
            } == .notAuthentic)
        #expect(try scene.bytes() == before)
    }

    @Test("A plain database is refused and stays as it is", arguments: DatabaseFormat.allCases)
    func plainDatabaseIsRefused(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try DatabaseQueue(path: scene.pathText).write { _ = try fill($0, count: 50) }
        let before = try scene.bytes()
        #expect(failure { _ = try scene.queue() } == .refused)
        #expect(failure { _ = try scene.pool() } == .refused)
        #expect(try scene.bytes() == before)
    }

    @Test("Plain SQLite takes an encrypted database for no database", arguments: writable)
    func encryptedOpenedAsPlainIsNoDatabase(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 50) }
        #expect(throws: DatabaseError.self) { try DatabaseQueue(path: scene.pathText) }
    }

    @Test("A database in another format is foreign")
    func anotherFormatIsForeign() throws {
        let scene = try DatabaseFixture(.gcm1)
        try scene.queue().write { _ = try fill($0, count: 50) }
        #expect(
            failure { _ = try EncryptedDatabase.queue(at: scene.path, key: scene.key(.sqlcipher4)) }
                == .foreign)
        let other = try DatabaseFixture(.sqlcipher4)
        try other.queue().write { _ = try fill($0, count: 50) }
        #expect(
            failure { _ = try EncryptedDatabase.queue(at: other.path, key: other.key(.gcm1)) } == .foreign)
    }

    @Test("A damaged first page is reported as corrupt", arguments: writable)
    func damagedFirstPageIsCorrupt(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        try scene.queue().write { _ = try fill($0, count: 50) }
        var bytes = try scene.bytes()
        bytes[100] ^= 1
        try scene.write(bytes)
        #expect(failure { _ = try scene.queue() } == .corrupt)
    }

    @Test("A later version is reported as unsupported and not as damage")
    func laterVersionIsToldFromDamage() throws {
        let scene = try DatabaseFixture(.gcm1)
        try scene.queue().write { _ = try fill($0, count: 50) }
        var bytes = try scene.bytes()
        bytes[8] = 3
        try scene.write(bytes)
        #expect(failure { _ = try scene.queue() } == .unsupportedVersion)
    }

    @Test("Opening a missing database to read fails with absent and makes no file")
    func absentDatabaseToReadOnlyIsAbsent() throws {
        let scene = try DatabaseFixture()
        var configuration = Configuration()
        configuration.readonly = true
        #expect(
            failure {
                _ = try EncryptedDatabase.queue(
                    at: scene.path, key: scene.key(), configuration: configuration)
            } == .absent)
        #expect(try scene.scratch.names().isEmpty)
    }

    @Test("The program's configuration reaches its connections")
    func configurationIsPassedThrough() throws {
        let scene = try DatabaseFixture()
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.label = "notes"
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA cache_size = 77") }
        let queue = try EncryptedDatabase.queue(
            at: scene.path, key: scene.key(), configuration: configuration)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA foreign_keys") } == 0)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA cache_size") } == 77)
        #expect(queue.configuration.label == "notes")
    }

    @Test("Paths with marks, accents and apostrophes work, and an empty one is refused")
    func relativeAndOddPathsWork() throws {
        let scene = try DatabaseFixture()
        for name in ["a b?c#d%e&f=g.db", "ü.db", "it's.db"] {
            let path = scene.scratch.path.appending(name)
            try EncryptedDatabase.queue(at: path, key: scene.key()).write { _ = try fill($0, count: 5) }
            let count = try EncryptedDatabase.queue(at: path, key: scene.key()).read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
            }
            #expect(count == 5)
            #expect(try scene.scratch.names().contains(name))
        }
        #expect(failure { _ = try EncryptedDatabase.queue(at: "", key: scene.key()) } == .invalidInput)
    }

    @Test("A path that is no UTF-8 is the file of those bytes, also for a copy and a new key")
    func pathsOfBytes() throws {
        let scene = try DatabaseFixture()
        func path(_ bytes: [UInt8]) throws -> FilePath {
            scene.scratch.path.appending(try #require(FileNameBytes.component(bytes)))
        }
        let name: [UInt8] = [0x61, 0xff, 0x25, 0xc3, 0x3f, 0x2e, 0x64, 0x62]
        let other = Array("copy".utf8) + [0xfe]
        let queue = try EncryptedDatabase.queue(at: path(name), key: scene.key())
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        try EncryptedDatabase.convert(path(name), key: scene.key(), to: path(other), newKey: scene.key())
        try EncryptedDatabase.rekey(at: path(name), from: scene.key(), to: scene.key())
        for name in [name, other] {
            let count = try EncryptedDatabase.queue(at: path(name), key: scene.key()).read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
            }
            #expect(count == 5)
        }
        let found = try scene.scratch.descriptor.names().map { FileNameBytes.of($0) }
        #expect(Set(found) == [name, other])
        let absent = try path([0xfd])
        var configuration = Configuration()
        configuration.readonly = true
        let code = failure {
            _ = try EncryptedDatabase.queue(at: absent, key: scene.key(), configuration: configuration)
        }
        #expect(code == .absent)
        // Foundation, which removes the folder, does not find such names.
        for name in try scene.scratch.descriptor.names() {
            try scene.scratch.descriptor.removeTree(name)
        }
    }

    @Test("Only the right passphrase opens a database, and an empty one is refused", arguments: writable)
    func passphraseOpensOnlyItsDatabase(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        func open(_ text: String) throws -> DatabaseQueue {
            try EncryptedDatabase.queue(
                at: scene.path, key: .passphrase(SecretBytes.copying(text), format: format))
        }
        try open("correct horse").write { _ = try fill($0, count: 5) }
        #expect(try open("correct horse").read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 5)
        #expect(failure { _ = try open("wrong horse") } == .notAuthentic)
        #expect(failure { _ = try open("") } == .invalidInput)
    }

    @Test("Raw keys and salts of other sizes are refused")
    func keysOfOtherSizesAreRefused() throws {
        for size in oddKeySizes + [16, 24] {
            let bytes: [UInt8] = .counting(size)
            #expect(failure { _ = try DatabaseKey.raw(SecretBytes.copying(bytes.span)) } == .invalidInput)
        }
        let bytes: [UInt8] = .counting(32)
        let salt: [UInt8] = .counting(8)
        #expect(
            failure { _ = try DatabaseKey.raw(SecretBytes.copying(bytes.span), salt: salt) } == .invalidInput)
    }

    @Test("SQLCipher's spelled keys are keys in its formats, and passphrases in ours")
    func spelledKeys() throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        try scene.queue().write { _ = try fill($0, count: 5) }
        let salt = try Array(scene.bytes().prefix(16))
        func rows(_ text: String, _ format: DatabaseFormat = .sqlcipher4) throws -> Int? {
            let key = try DatabaseKey.passphrase(SecretBytes.copying(text), format: format)
            do {
                return try EncryptedDatabase.queue(at: scene.path, key: key).read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
                }
            } catch { throw EncryptedDatabase.failure(error) }
        }
        #expect(try rows("x'\(scene.keyBytes.hex)'") == 5)
        #expect(try rows("X'\(scene.keyBytes.hex.uppercased())'") == 5)
        #expect(try rows("x'\(scene.keyBytes.hex)\(salt.hex)'") == 5)
        let wrong = scene.keyBytes.map { $0 ^ 1 }.hex
        for text in [
            "x'\(wrong)'", "x'\(scene.keyBytes.hex)", scene.keyBytes.hex, "x'g\(wrong.dropFirst())'",
        ] {
            #expect(failure { _ = try rows(text) } == .notAuthentic)
        }
        #expect(failure { _ = try rows("x'\(scene.keyBytes.hex)'", .gcm1) } == .foreign)
    }

    @Test("A database in memory is refused, and no file of that name made")
    func memory() throws {
        let scene = try DatabaseFixture()
        #expect(
            failure { _ = try EncryptedDatabase.queue(at: ":memory:", key: scene.key()) } == .invalidInput)
        #expect(failure { _ = try EncryptedDatabase.pool(at: ":memory:", key: scene.key()) } == .invalidInput)
    }
}
