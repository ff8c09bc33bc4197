import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import Testing
import TestSupport

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// A journal may end in the name of a super-journal, which SQLite opens and finally deletes. Any user who
/// may write beside the database can put any name there.
@Suite("Super-journals")
struct SuperJournalTests {
    private static let form = "other.db-mj0A1B2C9D3"

    private func make(_ command: String, _ arguments: String...) throws {
        #expect(try CommandRun.run(command, arguments).code == 0)
    }

    /// Opening fails so, and leaves database and journal as they are.
    private func expect(_ code: CofferError.Code, _ hot: HotFixture, _ log: [UInt8], _ label: String) throws {
        #expect(hot.failureCode() == code, "\(label)")
        #expect(try hot.isUntouched(log: log), "\(label)")
    }

    @Test("A journal that names any other file is an error, and no file is deleted", arguments: writable)
    func strangers(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let names = [
            "thesis.txt", "test.db", "thésis.txt", "x-mj0a1b2c9d3", "x-mj0A1B2C8D3", "x-mj0A1B2C9D",
            "x-journal", "x-mj0A1B2C9D3.txt", "x-mj0A1B2G9D3", "thesis.txt\0-mj0A1B2C9D3",
        ]
        for name in names {
            let path = hot.scene.scratch.path.string + "/" + name
            let file = URL(filePath: String(decoding: path.utf8.prefix { $0 != 0 }, as: UTF8.self))
            // The second has no whole header, the third a garbled one.
            let garbled = [UInt8](repeating: 0xd9, count: 512)
            let ending = HotFixture.ending(naming: path)
            for log in [hot.log(naming: path), [0xd9] + ending, garbled + ending] {
                try hot.restore(log: log)
                if name != "test.db" { try Data("all my work".utf8).write(to: file) }
                try expect(.corrupt, hot, log, name)
                #expect(FileManager.default.fileExists(atPath: file.path(percentEncoded: false)), "\(name)")
            }
        }
        // Nor are files missed that are not there, or no path is named.
        for name in ["/nowhere/thesis.txt", Self.form] {
            let log = hot.log(naming: name)
            try hot.restore(log: log)
            try expect(.corrupt, hot, log, name)
        }
        try hot.restore()
        #expect(try hot.read() == HotFixture.right)
    }

    @Test(
        "Under a wrong key, a journal that names any other file is an error and deletes none",
        arguments: writable)
    func wrongKey(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let name = hot.scene.scratch.path.string + "/thesis.txt"
        let log = hot.log(naming: name)
        try hot.restore(log: log)
        try Data("all my work".utf8).write(to: URL(filePath: name))
        let other = [UInt8].counting(32, from: 99)
        #expect(
            hot.failureCode { try .raw(SecretBytes.copying(other.span), format: format) } == .notAuthentic)
        #expect(try hot.isUntouched(log: log))
        #expect(FileManager.default.fileExists(atPath: name))
    }

    @Test(
        "Only a regular file is opened, whatever its name", .timeLimit(.minutes(10)),
        arguments: writable, ["mkfifo", "mkdir", "ln -s /dev/zero"])
    func pipes(format: DatabaseFormat, command: String) throws {
        let hot = try HotFixture(format, "delete")
        let name = hot.scene.scratch.path.string + "/" + Self.form
        let log = hot.log(naming: name)
        try hot.restore(log: log)
        try make("sh", "-c", command + " " + name)
        try expect(.corrupt, hot, log, command)
    }

    @Test("A pipe in the place of the journal or the WAL is an error", .timeLimit(.minutes(10)))
    func pipeBeside() throws {
        for suffix in ["-journal", "-wal"] {
            let scene = try DatabaseFixture()
            try scene.queue().write { _ = try fill($0, count: 5) }
            try make("mkfifo", scene.pathText + suffix)
            #expect(throws: (any Error).self) { try scene.queue().read { try integrity($0) } }
            try FileManager.default.removeItem(atPath: scene.pathText + suffix)
            #expect(try scene.queue().read { try integrity($0) } == "ok")
        }
    }

    @Test("A super-journal that may or may not exist is an error", arguments: writable)
    func hidden(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let loop = hot.scene.scratch.path.string + "/loop"
        let log = hot.log(naming: loop + "/" + Self.form)
        try hot.restore(log: log)
        try make("ln", "-s", "loop", loop)
        try expect(.inputOutput, hot, log, "a link in a circle")
    }

    @Test("SQLite's own name is believed, in any directory", arguments: writable)
    func own(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let name = hot.scene.scratch.path.string + "/é " + Self.form
        try hot.restore(log: hot.log(naming: name))
        try Data((hot.scene.pathText + "-journal").utf8 + [0]).write(to: URL(filePath: name))
        #expect(try hot.read() == HotFixture.right)
        #expect(!FileManager.default.fileExists(atPath: name))
    }

    @Test(
        "A super-journal that lists a pipe is not waited for, and the rows are right",
        .timeLimit(.minutes(10))
    )
    func listedPipe() throws {
        let hot = try HotFixture(.gcm1, "delete")
        let folder = hot.scene.scratch.path.string
        let name = folder + "/" + Self.form
        for listed in ["pipe-journal", "pipe"] {
            try hot.restore(log: hot.log(naming: name))
            try make("mkfifo", folder + "/" + listed)
            try Data((folder + "/" + listed).utf8 + [0]).write(to: URL(filePath: name))
            #expect(hot.failureCode() == .inputOutput)
            #expect(try hot.read() == HotFixture.right)
        }
    }

    @Test("The VFS deletes journals, and opens super-journals and what they list, and nothing else")
    func names() throws {
        let scene = try DatabaseFixture()
        _ = try scene.queue()
        let folder = scene.scratch.path.string + "/"
        for name in ["thesis.txt", "test.db", "x-journal.txt", "x-mj0a1b2c9d3", "x-mj0A1B2C8D3", "-shm"] {
            try Data([1]).write(to: URL(filePath: folder + name))
            #expect(FileAccessProbe.delete(folder + name) != 0, "\(name)")
            #expect(FileAccessProbe.openSuperJournal(folder + name, isNew: false) != 0, "\(name)")
            #expect(FileAccessProbe.openSuperJournal(folder + "new " + name, isNew: true) != 0, "\(name)")
            #expect(FileManager.default.fileExists(atPath: folder + name), "\(name)")
            #expect(!FileManager.default.fileExists(atPath: folder + "new " + name), "\(name)")
        }
        for name in ["x-journal", "x-wal", Self.form] {
            try Data([1]).write(to: URL(filePath: folder + name))
            let isWAL = name.utf8.elementsEqual("x-wal".utf8)
            #expect((FileAccessProbe.openSuperJournal(folder + name, isNew: false) == 0) == !isWAL, "\(name)")
            #expect(FileAccessProbe.delete(folder + name) == 0, "\(name)")
            #expect(!FileManager.default.fileExists(atPath: folder + name), "\(name)")
            let isMade = FileAccessProbe.openSuperJournal(folder + name, isNew: true) == 0
            #expect(isMade == name.utf8.elementsEqual(Self.form.utf8), "\(name)")
        }
    }

    // MARK: Copies

    /// A database that is to read only, with a journal that ends in this name; its journal.
    private func makeReadOnly(_ scene: borrowing DatabaseFixture, naming name: String) throws -> [UInt8] {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Independent/sqlcipher3_hot.py", scene.pathText,
                scene.keyBytes.hex, "delete",
            ])
        #expect(run.code == 0, "\(run.errorText)")
        let log = try scene.bytes("-journal") + HotFixture.ending(naming: name)
        try scene.write(log, "-journal")
        return log
    }

    private func convert(_ scene: borrowing DatabaseFixture) throws {
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(scene.path, key: scene.key(), to: target, newKey: scene.key(.gcm1))
    }

    @Test(
        "Converting from a copy leaves the super-journal to its databases",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"))
    func copied() throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        let name = scene.scratch.path.string + "/" + Self.form
        let log = try makeReadOnly(scene, naming: name)
        let main = try scene.bytes()
        // SQLite deletes one that lists no journal which is there.
        let list = Data("/nowhere/other.db-journal\0".utf8)
        try list.write(to: URL(filePath: name))
        try convert(scene)
        let target = try EncryptedDatabase.queue(
            at: scene.scratch.path.appending("new.db"), key: scene.key(.gcm1))
        let rows = try target.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM t WHERE body LIKE 'row%'")
        }
        #expect(rows == 300)
        #expect(try target.read { try integrity($0) } == "ok")
        try target.close()
        #expect(try Data(contentsOf: URL(filePath: name)) == list)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        // Without it the transaction is committed: the copy equals the database, which is not changed.
        for file in [Self.form, "new.db"] {
            try FileManager.default.removeItem(atPath: scene.scratch.path.string + "/" + file)
        }
        try? convert(scene)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        let names = try scene.scratch.names()
        #expect(!names.contains { $0.utf8.starts(with: ".coffer".utf8) })
    }

    @Test(
        "Converting from a copy deletes and opens no other file that the journal names",
        .enabled(if: SQLCipher3.isAvailable, "the command sqlcipher 3 is not here"), .timeLimit(.minutes(10)),
        arguments: [("thesis.txt", "touch"), (Self.form, "mkfifo"), ("pipe", "mkfifo")])
    func copiedStrangers(file: String, command: String) throws {
        let scene = try DatabaseFixture(.sqlcipher3)
        let name = scene.scratch.path.string + "/" + file
        let log = try makeReadOnly(scene, naming: name)
        let main = try scene.bytes()
        try make(command, name)
        #expect(failure { try convert(scene) } == .corrupt)
        #expect(try scene.bytes() == main && scene.bytes("-journal") == log)
        #expect(try scene.scratch.names() == [file, "test.db", "test.db-journal"].sorted())
    }
}
