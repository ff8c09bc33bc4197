import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngineSQLite
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// GRDB's own ways to copy a database: `vacuum(into:)` and `backup(to:)`.
@Suite("Copies: vacuum(into:) and backup(to:)")
struct CopyTests {
    private static let count = "SELECT count(*) FROM t"

    private func rows(_ path: FilePath, _ key: borrowing DatabaseKey) throws -> Int? {
        let queue = try EncryptedDatabase.queue(at: path, key: key)
        return try queue.read { db in
            #expect(try integrity(db) == "ok")
            return try Int.fetchOne(db, sql: Self.count)
        }
    }

    private func expectSealed(_ scene: borrowing DatabaseFixture, _ name: FilePath) throws {
        let bytes = try scene.scratch.read(name)
        #expect(bytes.count > 4096 && !bytes.contains(text: "plain text canary"))
        #expect(!bytes.starts(with: "SQLite format".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: scene.scratch.path(of: name.string))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("vacuum(into:) makes a copy under the same key, its owner's alone", arguments: writable)
    func vacuum(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let other = try DatabaseFixture(format, keyBytes: scene.keyBytes)
        let writers: [(any DatabaseWriter, FilePath)] = [
            (try scene.queue(), "one.db"), (try other.pool(), "two.db"),
        ]
        for (writer, name) in writers {
            try writer.write { _ = try fill($0, count: 200) }
            try writer.vacuum(into: scene.scratch.path(of: name.string))
            try expectSealed(scene, name)
            #expect(try rows(scene.scratch.path.appending(name.string), scene.key()) == 200)
            let copy = scene.scratch.path.appending(name.string)
            #expect(failure { _ = try rows(copy, .random(format: format)) } == .notAuthentic)
            // The source goes on, and opens.
            try writer.write { _ = try fill($0, count: 10) }
            #expect(try writer.read { try Int.fetchOne($0, sql: Self.count) } == 210)
        }
        #expect(try rows(scene.path, scene.key()) == 210)
    }

    @Test("vacuum(into:) under a passphrase, and under a key with its salt", arguments: writable)
    func otherKeys(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let salt = [UInt8].counting(format == .gcm1 ? 6 : 16, from: 3)
        let keys: [() throws -> DatabaseKey] = [
            { try .passphrase(SecretBytes.copying("correct horse"), format: format) },
            { try .raw(SecretBytes.copying([UInt8].counting(32).span), format: format, salt: salt) },
        ]
        for (index, key) in keys.enumerated() {
            let (path, copy) = (scene.scratch.path.appending("\(index).db"), "\(index)-copy.db")
            let queue = try EncryptedDatabase.queue(at: path, key: key())
            try queue.write { _ = try fill($0, count: 20) }
            try queue.vacuum(into: scene.scratch.path(of: copy))
            try expectSealed(scene, FilePath(copy))
            #expect(try rows(scene.scratch.path.appending(copy), key()) == 20)
            #expect(try rows(path, key()) == 20)
        }
    }

    @Test("VACUUM INTO makes nothing in clear, however it is written", arguments: writable)
    func spellings(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        let folder = scene.scratch.path
        let spellings = [
            "vacuum into '\(folder)/a.db'", "/* VACUUM */ -- x\n VaCuUm main INTO '\(folder)/b.db'",
            "  ;VACUUM/**/INTO '\(folder)//./c.db'",
        ]
        for (sql, name) in zip(spellings, ["a.db", "b.db", "c.db"]) {
            try queue.inDatabase { try $0.execute(sql: sql) }
            try expectSealed(scene, FilePath(name))
            #expect(try rows(folder.appending(name), scene.key()) == 20)
        }
        for target in ["file:\(folder)/d.db?vfs=unix", "file:\(folder)/d.db"] {
            #expect(throws: DatabaseError.self) { try queue.vacuum(into: target) }
        }
        // Neither does attaching, after a copy as before.
        #expect(throws: DatabaseError.self) {
            try queue.inDatabase { try $0.execute(sql: "ATTACH '\(folder)/d.db' AS d") }
        }
        #expect(try !scene.scratch.names().contains { $0.hasPrefix("d.db") })
    }

    @Test("VACUUM INTO replaces no existing file")
    func existing() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        try scene.scratch.write("there.db", [1, 2, 3])
        #expect(throws: DatabaseError.self) { try queue.vacuum(into: scene.scratch.path(of: "there.db")) }
        #expect(try scene.scratch.read("there.db") == [1, 2, 3])
        #expect(throws: DatabaseError.self) { try queue.vacuum(into: scene.scratch.path(of: "no/where.db")) }
        #expect(try rows(scene.path, scene.key()) == 20)
    }

    @Test("A copy of a vault's database leaves the vault's own what it was")
    func ofAVault() async throws {
        let scratch = try ScratchDirectory.make()
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("notes")
            try await queue.write { _ = try fill($0, count: 20) }
            try await queue.vacuum(into: scratch.path(of: "copy.db"))
            await databases.close()
            let again = try await databases.queue("notes")
            #expect(try await again.read { try Int.fetchOne($0, sql: Self.count) } == 20)
        }
        #expect(try !scratch.read("copy.db").contains(text: "plain text canary"))
    }

    @Test("A copy that was refused changes nothing of what the vault keeps of its database")
    func refusedOfAVault() async throws {
        let scene = try DatabaseFixture(keyBytes: .counting(32, from: 99))
        try await scene.queue().write { _ = try fill($0, count: 5) }
        let other = scene.pathText
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            for name in ["one", "all"] {
                let queue = try await databases.queue(name)
                try await queue.write { _ = try fill($0, count: 20) }
                await #expect(throws: DatabaseError.self) { try await queue.vacuum(into: other) }
                if name == "one" { await databases.close(name) } else { await databases.close() }
                let again = try await databases.queue(name)
                #expect(try await again.read { try Int.fetchOne($0, sql: Self.count) } == 20)
            }
        }
    }

    /// An attached database of another key beside the scene's.
    private func attached(_ scene: borrowing DatabaseFixture, _ name: String) throws -> (
        DatabaseQueue, [UInt8]
    ) {
        let bytes: [UInt8] = .counting(32, from: 50)
        let path = scene.scratch.path.appending(name)
        let queue = try EncryptedDatabase.queue(at: path, key: .raw(SecretBytes.copying(bytes.span)))
        try queue.write { _ = try fill($0, count: 7) }
        return (queue, bytes)
    }

    @Test(
        "A copy of an attached database is under that one's key",
        arguments: ["aux", "\"AUX\"", "[aux]", "`aux`"])
    func attachedSchema(schema: String) throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        let (other, bytes) = try attached(scene, "other.db")
        let copy = scene.scratch.path.appending("copy.db")
        try queue.inDatabase { db in
            try db.execute(sql: "ATTACH ? AS aux", arguments: [other.path])
            try db.execute(sql: "VACUUM \(schema) INTO '\(copy)'")
            try db.execute(sql: "DETACH aux")
        }
        #expect(failure { _ = try rows(copy, scene.key()) } == .notAuthentic)
        #expect(try rows(copy, .raw(SecretBytes.copying(bytes.span))) == 7)
        #expect(try rows(scene.path, scene.key()) == 20)
    }

    @Test("A copy that never begins leaves no key for the file that is opened next")
    func neverBegun() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        let (other, _) = try attached(scene, "other.db")
        let (copy, fresh) = (scene.scratch.path(of: "copy.db"), scene.scratch.path(of: "fresh.db"))
        try queue.vacuum(into: copy)
        for name in [copy, fresh] {
            try queue.inDatabase { (db: Database) throws -> Void in
                for index in 0..<10 { try db.execute(sql: "ATTACH ':memory:' AS m\(index)") }
                for target in [name, "file:\(name)?vfs=coffer&mode=memory", ":memory:"] {
                    #expect(throws: DatabaseError.self) {
                        try db.execute(sql: "VACUUM INTO '\(target)'")
                    }
                }
                // On the same thread.
                try other.inDatabase { (db: Database) throws -> Void in
                    #expect(throws: DatabaseError.self) { try db.execute(sql: "ATTACH '\(name)' AS y") }
                }
                for index in 0..<10 { try db.execute(sql: "DETACH m\(index)") }
                #expect(throws: DatabaseError.self) { try db.execute(sql: "ATTACH '\(name)' AS y") }
            }
        }
        #expect(try !scene.scratch.names().contains("fresh.db"))
        let third = try DatabaseKey.raw(SecretBytes.copying([UInt8].counting(32, from: 3).span))
        let own = try EncryptedDatabase.queue(at: scene.scratch.path.appending("fresh.db"), key: third)
        try own.write { _ = try fill($0, count: 3) }
        #expect(try own.read { try Int.fetchOne($0, sql: Self.count) } == 3)
    }

    @Test("A copy that never begins leaves no key for a statement compiled before")
    func neverBegunAndCompiled() throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 20) }
        let (other, _) = try attached(scene, "other.db")
        let copy = scene.scratch.path(of: "copy.db")
        try queue.vacuum(into: copy)
        // On one thread.
        try other.inDatabase { (db: Database) throws -> Void in
            let attach = try db.makeStatement(sql: "ATTACH ? AS y")
            try queue.inDatabase { (first: Database) throws -> Void in
                for index in 0..<10 { try first.execute(sql: "ATTACH ':memory:' AS m\(index)") }
                #expect(throws: DatabaseError.self) { try first.execute(sql: "VACUUM INTO '\(copy)'") }
            }
            #expect(throws: DatabaseError.self) { try attach.execute(arguments: [copy]) }
        }
    }

    @Test(
        "The schema that a VACUUM names is read from the statement",
        arguments: [
            ("VACUUM", "main"), (" ;vacuum/**/INTO 'x'", "main"), ("VACUUM aux INTO ?", "aux"),
            ("-- VACUUM b\nVACUUM \"a\"\"b\" INTO 'x'", "a\"b"), ("VACUUM [into] INTO 'x'", "into"),
            ("VACUUM [aux", nil), ("VACUUM 'aux", nil), ("\"VACUUM\" aux", nil), ("VACUUMS aux", nil),
            ("", nil),
        ] as [(String, String?)])
    func schema(sql: String, name: String?) {
        #expect(VacuumStatement.schema(in: Array(sql.utf8)) == name.map { Array($0.utf8) })
    }

    @Test("A copy into a file that has a key of its own is that file's: its salt, its cost")
    func intoAnOpened() throws {
        let scene = try DatabaseFixture()
        let least = try EncryptedDatabase.queue(
            at: scene.path, key: .passphrase(SecretBytes.copying("one"), cost: .floor))
        try least.write { _ = try fill($0, count: 20) }
        let key = { try DatabaseKey.passphrase(SecretBytes.copying("two")) }
        let path = scene.scratch.path.appending("own.db")
        let own = try EncryptedDatabase.queue(at: path, key: key())
        try least.vacuum(into: own.path)
        try own.close()
        try least.close()
        let (copy, source) = (try scene.scratch.read("own.db"), try scene.bytes())
        #expect(copy[8..<16] != source[8..<16] && copy[16..<32] != source[16..<32])
        #expect(try rows(path, key()) == 20)
    }

    @Test("backup(to:) an encrypted database under the same key and another", arguments: writable)
    func backup(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let source = try scene.queue()
        try source.write { _ = try fill($0, count: 100) }
        let other: [UInt8] = .counting(32, from: 77)
        for (name, bytes) in [("same.db", scene.keyBytes), ("other.db", other)] {
            let path = scene.scratch.path.appending(name)
            let queue = try EncryptedDatabase.queue(
                at: path, key: .raw(SecretBytes.copying(bytes.span), format: format))
            try source.backup(to: queue)
            try queue.close()
            #expect(try rows(path, .raw(SecretBytes.copying(bytes.span), format: format)) == 100)
        }
    }

    @Test(
        "A plain database, or another format's, is not backed up into an encrypted one", arguments: writable)
    func refusedBackup(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let other = try DatabaseFixture(format == .gcm1 ? .sqlcipher4 : .gcm1)
        let sources = [try DatabaseQueue(), try other.queue()]
        for source in sources { try source.write { _ = try fill($0, count: 30) } }
        // With a journal, then with a WAL.
        try scene.queue().write { _ = try fill($0, count: 20) }
        for target in [try scene.queue(), try scene.pool()] as [any DatabaseWriter] {
            for source in sources {
                do {
                    try source.backup(to: target)
                    Issue.record("It was backed up.")
                } catch {
                    let error = EncryptedDatabase.failure(error)
                    #expect(error.code == .refused && error.message.contains("convert"), "\(error)")
                }
            }
            #expect(try target.read { try Int.fetchOne($0, sql: Self.count) } == 20)
            try target.close()
            #expect(try rows(scene.path, scene.key()) == 20)
        }
    }

    @Test("A backup into a database that the program opened in clear is in clear", arguments: writable)
    func plainBackup(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let source = try scene.queue()
        try source.write { _ = try fill($0, count: 20) }
        let memory = try DatabaseQueue()
        try source.backup(to: memory)
        #expect(try memory.read { try Int.fetchOne($0, sql: Self.count) } == 20)
    }
}
