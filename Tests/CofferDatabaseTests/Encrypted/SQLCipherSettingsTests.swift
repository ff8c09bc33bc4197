@testable import CofferEngineSQLite
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("SQLCipher databases that were not made with the defaults")
struct SQLCipherSettingsTests {
    private static let passphrase = "correct horse"

    private func key(
        _ settings: SQLCipherSettings, format: DatabaseFormat = .sqlcipher4
    ) throws -> DatabaseKey {
        try DatabaseKey.passphrase(SecretBytes.copying(Self.passphrase), format: format).with(settings)
    }

    private func count(_ path: FilePath, _ key: borrowing DatabaseKey) throws -> Int? {
        try EncryptedDatabase.queue(at: path, key: key).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
        }
    }

    @Test(
        "A database is read under the settings that it was written with, and under no others",
        arguments: [
            SQLCipherSettings(iterations: 4000), SQLCipherSettings(iterations: 4000, pageSize: 1024),
            SQLCipherSettings(iterations: 1, pageSize: 65_536),
            SQLCipherSettings(iterations: 4000, salt: Array(repeating: 7, count: 16)),
        ])
    func settings(_ settings: SQLCipherSettings) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: key(settings))
        try queue.write { _ = try fill($0, count: 50) }
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "PRAGMA page_size") } == settings.pageSize ?? 4096)
        try queue.close()
        #expect(try count(scene.path, key(settings)) == 50)
        var others = [SQLCipherSettings(), settings, settings]
        others[1].iterations = 5000
        others[2].pageSize = 8192
        for other in others {
            let code = failure { _ = try count(scene.path, key(other)) }
            #expect(code != nil, "\(other)")
        }
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(scene.path, key: key(settings), to: target, newKey: scene.key(.gcm1))
        #expect(try count(target, scene.key(.gcm1)) == 50)
        let back = scene.scratch.path.appending("back.db")
        try EncryptedDatabase.convert(target, key: scene.key(.gcm1), to: back, newKey: key(settings))
        #expect(try count(back, key(settings)) == 50)
    }

    @Test("Settings that no database has are refused")
    func refused() throws {
        let salt = [UInt8](repeating: 1, count: 16)
        let wrong = [
            SQLCipherSettings(iterations: 0), SQLCipherSettings(iterations: 10_000_001),
            SQLCipherSettings(pageSize: 512), SQLCipherSettings(pageSize: 5000),
            SQLCipherSettings(pageSize: 131_072), SQLCipherSettings(salt: [1]),
            SQLCipherSettings(salt: salt, plaintextHeader: 8),
        ]
        for settings in wrong { #expect(failure { _ = try key(settings) } == .invalidInput, "\(settings)") }
        for format in [DatabaseFormat.gcm1, .sqlcipher3] {
            let settings = SQLCipherSettings(salt: salt)
            #expect(failure { _ = try key(settings, format: format) } == .invalidInput)
        }
    }

    @Test("A plaintext header that leaves nothing of the first page to encrypt is refused")
    func tooLongHeader() throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let salt = [UInt8](repeating: 1, count: 16)
        for header in [944, 960, 976, 1024] {
            let settings = SQLCipherSettings(pageSize: 1024, salt: salt, plaintextHeader: header)
            let together = failure { _ = try count(scene.path, scene.key().with(settings)) }
            let apart = failure {
                let secret = try SecretBytes.copying(scene.keyBytes.span)
                let key = try DatabaseKey.sqlcipher4(secret, salt: salt, plaintextHeader: header)
                    .with(SQLCipherSettings(pageSize: 1024))
                _ = try count(scene.path, key)
            }
            #expect(together == .invalidInput && apart == .invalidInput, "\(header)")
        }
        #expect(try scene.scratch.names().isEmpty)
    }

    @Test("The codec refuses pages of which nothing would be encrypted")
    func codecOfTooLongHeader() throws {
        for header in [944, 960, 1024] {
            let handle = try DatabaseKeyHandle.register(
                .sqlcipher4, secret: GuardedBytes.copying([UInt8].counting(32).span),
                salt: [UInt8].counting(16), pageSize: 1024, plaintextHeader: header)
            let codec = try #require(handle.entry.codec(first: nil))
            let pages = (Scratch(count: 1024), Scratch(count: 1024))
            #expect(!codec.seal(pages.0.region, number: 1, into: pages.1.region), "\(header)")
            pages.1.region[1023] = 1
            #expect(!codec.open(pages.1.region, number: 1), "\(header)")
        }
    }

    @Test(
        "With another length of the plaintext header than its own, a database is opened by no key",
        arguments: [(1024, 928), (1024, 96), (4096, 1024), (4096, 32)])
    func otherHeader(pageSize: Int, header: Int) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        var settings = SQLCipherSettings(
            pageSize: pageSize, salt: Array(repeating: 7, count: 16), plaintextHeader: header)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: scene.key().with(settings))
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        #expect(try count(scene.path, scene.key().with(settings)) == 5)
        let plain = scene.scratch.path.appending("plain.db")
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key().with(settings), to: plain)
        let unencrypted = failure { _ = try count(plain, scene.key().with(settings)) }
        #expect(unencrypted == .refused)
        let before = try scene.bytes()
        for other in [16, 48, 112, 912] {
            settings.plaintextHeader = other
            let code = failure { _ = try count(scene.path, scene.key().with(settings)) }
            #expect(code == .notAuthentic, "\(other)")
        }
        #expect(failure { _ = try count(scene.path, scene.key()) } == .unsupported)
        #expect(try scene.bytes() == before)
    }

    @Test("A raw key needs no rounds, and keeps its page size")
    func rawKey() throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let settings = SQLCipherSettings(iterations: 4000, pageSize: 2048)
        let queue = try EncryptedDatabase.queue(at: scene.path, key: scene.key().with(settings))
        try queue.write { _ = try fill($0, count: 5) }
        try queue.close()
        #expect(try count(scene.path, scene.key().with(SQLCipherSettings(pageSize: 2048))) == 5)
    }

    @Test(
        "SQLCipher 4 with 4000 rounds and other pages",
        .enabled(if: SQLCipherPeer.isAvailable, "SQLCipher 4 for Python is not here"),
        arguments: [nil, 1024, 8192])
    func sqlcipher4(pageSize: Int?) throws {
        let scene = try DatabaseFixture(.sqlcipher4)
        let made =
            if let pageSize {
                try SQLCipherPeer.run("smartstore", scene.pathText, scene.keyBytes, "\(pageSize)")
            } else {
                try SQLCipherPeer.run("smartstore", scene.pathText, scene.keyBytes)
            }
        #expect(made.isEmpty, "\(made)")
        let passphrase = try SecretBytes.copying(scene.keyBytes.hex)
        let key = try DatabaseKey.passphrase(passphrase, format: .sqlcipher4)
            .with(SQLCipherSettings(iterations: 4000, pageSize: pageSize))
        #expect(try count(scene.path, key) == 300)
    }

    @Test(
        "SQLCipher 2: version 3 with 4000 rounds",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"))
    func sqlcipher2() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        let sql =
            "PRAGMA key = '\(Self.passphrase)'; PRAGMA kdf_iter = 4000; CREATE TABLE t (x); "
            + "INSERT INTO t VALUES (1), (2);"
        #expect(try CommandRun.run("sqlcipher", [scene.pathText, sql]).code == 0)
        #expect(try count(scene.path, key(SQLCipherSettings(iterations: 4000), format: .sqlcipher3)) == 2)
        let standard = failure { _ = try count(scene.path, key(SQLCipherSettings(), format: .sqlcipher3)) }
        #expect(standard == .notAuthentic)
    }
}
