import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// A transaction that a crash interrupted in a database which cannot be written: converting takes it back in
/// a copy.
@Suite("Recovery of databases that cannot be written")
struct RecoveryCopyTests {
    private static let rows = "SELECT count(*) FROM t WHERE body LIKE 'row%'"

    private func count(_ path: FilePath, _ key: borrowing DatabaseKey) throws -> Int? {
        try EncryptedDatabase.queue(at: path, key: key).read { db in
            #expect(try integrity(db) == "ok")
            #expect(try !db.tableExists("u"))
            return try Int.fetchOne(db, sql: Self.rows)
        }
    }

    private func makeHot(_ scene: borrowing DatabaseFixture, _ journal: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Independent/sqlcipher3_hot.py", scene.pathText,
                scene.keyBytes.hex, journal,
            ])
        #expect(run.code == 0, "\(run.errorText)")
    }

    @Test(
        "SQLCipher 3's hot journal: converting finds the committed rows, opening says so",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"),
        arguments: ["delete", "persist", "truncate"])
    func sqlcipher3(journal: String) throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try makeHot(scene, journal)
        let (main, log) = (try scene.bytes(), try scene.bytes("-journal"))
        #expect(log.count > 4096)
        #expect(failure { _ = try count(scene.path, scene.key()) } == .readOnly)
        for format in [DatabaseFormat.gcm1, .sqlcipher4] {
            let target = scene.scratch.path.appending("\(format.rawValue).db")
            try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key(format))
            #expect(try count(target, scene.key(format)) == 300)
        }
        let plain = scene.scratch.path.appending("plain.db")
        try EncryptedDatabase.exportPlain(scene.path, key: scene.key(), to: plain)
        #expect(try DatabaseQueue(path: plain.string).read { try Int.fetchOne($0, sql: Self.rows) } == 300)
        // The source is as it was, and nothing else is left.
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        #expect(
            try scene.scratch.names()
                == ["gcm1.db", "plain.db", "sqlcipher4.db", "test.db", "test.db-journal"])
    }

    @Test(
        "SQLCipher 3's WAL after a crash is read",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"))
    func sqlcipher3WAL() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try makeHot(scene, "wal")
        #expect(try scene.bytes("-wal").count > 4096)
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key(.gcm1))
        #expect(try count(target, scene.key(.gcm1)) == 300)
    }

    @Test(
        "A wrong key, and a flipped bit in the journal: an error, and no copy stays",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"))
    func refused() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        try makeHot(scene, "delete")
        let (main, log) = (try scene.bytes(), try scene.bytes("-journal"))
        let target = scene.scratch.path.appending("new.db")
        let wrong: [UInt8] = .counting(32, from: 1)
        #expect(
            failure {
                try EncryptedDatabase.convert(
                    scene.path, key: .raw(SecretBytes.copying(wrong.span), format: .sqlcipher3), to: target,
                    newKey: scene.key(.gcm1))
            } == .notAuthentic)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        var flipped = log
        flipped[512 + 4 + 333] ^= 4
        try scene.write(flipped, "-journal")
        #expect(
            failure {
                try EncryptedDatabase.convert(
                    scene.path, key: scene.key(), to: target, newKey: scene.key(.gcm1))
            } == .corrupt)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == flipped)
        #expect(try scene.scratch.names() == ["test.db", "test.db-journal"])
    }

    @Test(
        "A database that this user may not write: converting works, opening to read says what to do",
        .enabled(if: getuid() != 0, "root may write everything"),
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func unwritable(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let folder = hot.scene.scratch.path.string
        for name in try hot.scene.scratch.names() {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o400], ofItemAtPath: folder + "/" + name)
        }
        try expectConverted(hot)
    }

    @Test(
        "A reader of a database with a hot journal is told what to do",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func readers(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        var configuration = Configuration()
        configuration.readonly = true
        #expect(
            failure {
                _ = try EncryptedDatabase.queue(
                    at: hot.scene.path, key: hot.scene.key(), configuration: configuration)
            } == .readOnly)
        #expect(try hot.isUntouched())
        try expectConverted(hot)
    }

    private func expectConverted(_ hot: HotFixture) throws {
        let target = hot.scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(
            hot.scene.path, key: hot.scene.key(), to: target, newKey: hot.scene.key())
        #expect(try count(target, hot.scene.key()) == HotFixture.rows)
    }

    @Test("The next copy removes a dead process's remains and leaves those in use")
    func remains() throws {
        guard SQLCipher3.isAvailable else { return }
        let scene = try DatabaseFixture(.sqlcipher3)
        try makeHot(scene, "delete")
        let folder = scene.scratch.path
        for name in [".coffer-recovery-dead", ".coffer-recovery-used"] {
            try FileManager.default.createDirectory(
                atPath: folder.appending(name).string, withIntermediateDirectories: false)
            try scene.scratch.write(FilePath(name + "-neighbour"), [1])
        }
        let used = try scene.scratch.descriptor.open(".coffer-recovery-used", [.read, .directory])
        #expect(try used.tryLock())
        try EncryptedDatabase.convert(
            scene.path, key: scene.key(), to: folder.appending("new.db"), newKey: scene.key(.gcm1))
        #expect(
            try scene.scratch.names() == [
                ".coffer-recovery-dead-neighbour", ".coffer-recovery-used",
                ".coffer-recovery-used-neighbour", "new.db", "test.db", "test.db-journal",
            ])
    }

    @Test("Remains that are another user's, or cannot be removed, stay and end no conversion")
    func foreignRemains() throws {
        guard SQLCipher3.isAvailable else { return }
        let scene = try DatabaseFixture(.sqlcipher3)
        try makeHot(scene, "delete")
        let other = scene.scratch.path.appending(".coffer-recovery-other").string
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try Data([1]).write(to: URL(filePath: other + "/database"))
        // Root could remove the other user's, and every user is kept from what is in a directory like this.
        let change = getuid() == 0 ? ["chown", "-R", "65534", other] : ["chmod", "500", other]
        #expect(try CommandRun.run(change[0], Array(change[1...])).code == 0)
        defer { _ = try? CommandRun.run("chmod", ["700", other]) }
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key(.gcm1))
        #expect(try count(target, scene.key(.gcm1)) == 300)
        #expect(try scene.scratch.names().contains(".coffer-recovery-other"))
        #expect(FileManager.default.fileExists(atPath: other + "/database"))
    }
}
