import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Databases that SQLCipher begins in clear, with the salt kept outside.
@Suite(
    "SQLCipher databases with a plaintext header",
    .enabled(
        if: SQLCipherPeer.isAvailable, "SQLCipher 4 for Python is not here: Scripts/setup-packages --tests"))
struct PlaintextHeaderTests {
    private static let salt = [UInt8](repeating: 0, count: 16)
    private static let rows = "SELECT count(*) FROM t WHERE body LIKE 'row%'"

    private func key(
        _ scene: borrowing DatabaseFixture, salt: [UInt8] = salt, header: Int = 32
    ) throws -> DatabaseKey {
        try .sqlcipher4(SecretBytes.copying(scene.keyBytes.span), salt: salt, plaintextHeader: header)
    }

    private func open(_ scene: borrowing DatabaseFixture) throws -> DatabaseQueue {
        try EncryptedDatabase.queue(at: scene.path, key: key(scene))
    }

    private func made() throws -> DatabaseFixture {
        let scene = try DatabaseFixture(.sqlcipher4)
        #expect(try SQLCipherPeer.run("make-header", scene.pathText, scene.keyBytes).isEmpty)
        #expect(try scene.bytes().starts(with: "SQLite format 3\0".utf8))
        return scene
    }

    @Test("Without its key such a database is named and left alone")
    func named() throws {
        let scene = try made()
        let before = try scene.bytes()
        for format in DatabaseFormat.allCases {
            do {
                _ = try EncryptedDatabase.queue(at: scene.path, key: scene.key(format))
                Issue.record("It was opened.")
            } catch {
                let error = try #require(error as? CofferError)
                #expect(error.code == .unsupported && error.message.contains("cipher_plaintext_header_size"))
            }
        }
        let target = scene.scratch.path.appending("new.db")
        #expect(
            failure {
                try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key())
            } == .unsupported)
        #expect(try scene.bytes() == before)
        #expect(try scene.scratch.names() == ["test.db"])
    }

    @Test(
        "With key and salt such a database is read, written, and read by SQLCipher",
        arguments: ["delete", "wal"])
    func roundTrip(journal: String) throws {
        let scene = try made()
        let queue = try open(scene)
        #expect(try queue.read { try Int.fetchOne($0, sql: Self.rows) } == 300)
        #expect(
            try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA journal_mode = \(journal)") }
                == journal)
        try queue.write { _ = try fill($0, count: 20, text: "row of ours") }
        #expect(try queue.read { try integrity($0) } == "ok")
        try queue.close()
        #expect(try scene.bytes().starts(with: "SQLite format 3\0".utf8))
        #expect(try !scene.bytes().contains(text: "row of ours"))
        let answer = try SQLCipherPeer.run("read-header", scene.pathText, scene.keyBytes)
        #expect(answer == ["integrity": "ok", "damaged": "0", "rows": "320", "lost": "0"])
    }

    @Test("A hot journal or WAL of SQLCipher is recovered", arguments: ["delete", "persist", "wal"])
    func hot(journal: String) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        var arguments = SQLCipherPeer.hot(scene.pathText, scene.keyBytes, journal)
        arguments[2] = "hot-header"
        let peer = try #require(Helper(arguments))
        peer.kill()
        #expect(try scene.bytes(journal == "wal" ? "-wal" : "-journal").count > 4096)
        let queue = try open(scene)
        #expect(try queue.read { try integrity($0) } == "ok")
        #expect(try queue.read { try Int.fetchOne($0, sql: Self.rows) } == 300)
    }

    @Test("New databases are made, and conversions work from and to this form")
    func converted() throws {
        let scene = try made()
        let target = scene.scratch.path.appending("gcm1.db")
        try EncryptedDatabase.convert(scene.path, key: key(scene), to: target, newKey: scene.key(.gcm1))
        let back = try DatabaseFixture(.sqlcipher4, keyBytes: scene.keyBytes)
        try EncryptedDatabase.convert(target, key: scene.key(.gcm1), to: back.path, newKey: key(scene))
        #expect(try SQLCipherPeer.run("read-header", back.pathText, scene.keyBytes)["rows"] == "300")
        let new = try DatabaseFixture(.sqlcipher4)
        try open(new).write { _ = try fill($0, count: 30) }
        #expect(try SQLCipherPeer.run("read-header", new.pathText, new.keyBytes)["rows"] == "30")
    }

    @Test("Another key, salt, geometry or a plain database is an error that changes no byte")
    func refused() throws {
        let scene = try made()
        let before = try scene.bytes()
        let other: [UInt8] = .counting(32, from: 99)
        let wrong: [() throws -> DatabaseKey] = [
            { try .sqlcipher4(SecretBytes.copying(other.span), salt: Self.salt, plaintextHeader: 32) },
            { try key(scene, salt: .counting(16, from: 1)) }, { try key(scene, header: 48) },
        ]
        for key in wrong {
            let code = failure { _ = try EncryptedDatabase.queue(at: scene.path, key: key()) }
            #expect(code == .notAuthentic)
        }
        for offset in [16, 17, 20] {
            var changed = before
            changed[offset] ^= 2
            try scene.write(changed)
            #expect(failure { _ = try open(scene) } == .corrupt)
            #expect(try scene.bytes() == changed)
        }
        try scene.write(before)
        #expect(try open(scene).read { try Int.fetchOne($0, sql: Self.rows) } == 300)
        let plain = try DatabaseFixture()
        try DatabaseQueue(path: plain.pathText).write { _ = try fill($0, count: 5) }
        #expect(failure { _ = try open(plain) } == .refused)
        #expect(failure { _ = try key(scene, salt: [1]) } == .invalidInput)
        for header in [0, -16, 8, 33, 2048] {
            #expect(failure { _ = try key(scene, header: header) } == .invalidInput)
        }
    }
}
