import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// `PRAGMA auto_vacuum`, which SQLite takes of a new database only.
@Suite("Databases that vacuum themselves")
struct AutoVacuumTests {
    /// The words for it, and the number that SQLite answers with.
    enum Mode: String, CaseIterable {
        case full, incremental
        var number: Int { self == .full ? 1 : 2 }
    }

    /// Where a program says it.
    enum Place: CaseIterable { case prepared, opened }

    private func configuration(_ value: String) -> Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = \(value)") }
        }
        return configuration
    }

    private func mode(_ db: Database) throws -> Int? { try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") }

    private func pages(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
    }

    /// Fills it, deletes most, and has the rest moved to the front.
    private func expectShrinking(_ writer: some DatabaseWriter, _ mode: Mode) throws {
        let sum = try writer.write { try fill($0, count: 3000) }
        let full = try writer.read { try pages($0) }
        let kept = try writer.write { db in
            try db.execute(sql: "DELETE FROM t WHERE id % 20 != 0")
            return try Int.fetchOne(db, sql: "SELECT sum(length(body)) FROM t")
        }
        if mode == .incremental {
            #expect(try writer.read { try pages($0) } == full)
            try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA incremental_vacuum(7)") }
            #expect(try writer.read { try pages($0) } == full - 7)
            try writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA incremental_vacuum") }
        }
        #expect(try writer.read { try pages($0) } < full / 5)
        #expect(try writer.read { try Int.fetchOne($0, sql: "PRAGMA freelist_count") } == 0)
        #expect(try writer.read { try Int.fetchOne($0, sql: "SELECT sum(length(body)) FROM t") } == kept)
        #expect(try writer.read { try integrity($0) } == "ok")
        #expect(kept ?? 0 < sum)
    }

    @Test(
        "A new database shrinks, and does so when it is opened again", arguments: writable, Mode.allCases)
    func shrinks(format: DatabaseFormat, mode: Mode) throws {
        for place in Place.allCases {
            let scene = try DatabaseFixture(format)
            let value = place == .prepared ? mode.rawValue.uppercased() : "\(mode.number)"
            let queue = try EncryptedDatabase.queue(
                at: scene.path, key: scene.key(),
                configuration: place == .prepared ? configuration(value) : Configuration())
            if place == .opened {
                try queue.inDatabase { try $0.execute(sql: "PRAGMA auto_vacuum=\(value)") }
            }
            #expect(try queue.inDatabase { try self.mode($0) } == mode.number)
            try expectShrinking(queue, mode)
            try queue.close()
            let size = try scene.bytes().count
            // Without a word of it.
            let again = try scene.queue()
            #expect(try again.read { try self.mode($0) } == mode.number)
            #expect(try again.read { try pages($0) } * 4096 == size)
            try expectShrinking(again, mode)
            // A backup reads every page, free ones and pointer maps too.
            let copy = try EncryptedDatabase.queue(
                at: scene.scratch.path.appending("copy.db"), key: scene.key())
            try again.backup(to: copy)
            #expect(try copy.read { try self.mode($0) } == mode.number)
            #expect(try copy.read { try integrity($0) } == "ok")
        }
    }

    @Test("A pool in WAL mode shrinks too", arguments: writable, Mode.allCases)
    func pools(format: DatabaseFormat, mode: Mode) throws {
        let scene = try DatabaseFixture(format)
        let pool = try EncryptedDatabase.pool(
            at: scene.path, key: scene.key(), configuration: configuration(mode.rawValue))
        #expect(try pool.read { try self.mode($0) } == mode.number)
        try expectShrinking(pool, mode)
        try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try pool.close()
        #expect(try scene.bytes().count < 3000 * 350 / 5)
        #expect(try scene.pool().read { try self.mode($0) } == mode.number)
    }

    @Test("A conversion keeps the setting, and SQLCipher reads such a database", arguments: Mode.allCases)
    func converted(mode: Mode) throws {
        let scene = try DatabaseFixture(.gcm1)
        let queue = try EncryptedDatabase.queue(
            at: scene.path, key: scene.key(), configuration: configuration(mode.rawValue))
        try expectShrinking(queue, mode)
        let target = scene.scratch.path.appending("new.db")
        try EncryptedDatabase.convert(
            scene.path, key: scene.key(), to: target, newKey: scene.key(.sqlcipher4))
        let converted = try EncryptedDatabase.queue(at: target, key: scene.key(.sqlcipher4))
        #expect(try converted.read { try self.mode($0) } == mode.number)
        #expect(try converted.read { try integrity($0) } == "ok")
        try converted.close()
        guard SQLCipherPeer.isAvailable else { return }
        let answer = try SQLCipherPeer.run("read", target.string, scene.keyBytes)
        #expect(answer["integrity"] == "ok" && answer["damaged"] == "0")
    }

    @Test("Without auto_vacuum, or with a value that SQLite does not know, no page is made")
    func untouched() throws {
        for value in ["NONE", "0", "banana", "3"] {
            let scene = try DatabaseFixture()
            let queue = try EncryptedDatabase.queue(
                at: scene.path, key: scene.key(), configuration: configuration(value))
            #expect(try queue.inDatabase { try mode($0) } == 0)
            #expect(try scene.scratch.descriptor.status(of: "test.db")?.size == 0)
            try queue.write { _ = try fill($0, count: 5) }
            #expect(try queue.read { try mode($0) } == 0)
        }
    }

    @Test(
        "A database with tables takes the setting with the next VACUUM, as SQLite's do", arguments: writable)
    func later(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 50) }
        try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA auto_vacuum = FULL")
            #expect(try mode(db) == 0)
            try db.execute(sql: "VACUUM")
            #expect(try mode(db) == 1)
        }
        #expect(try scene.queue().read { try mode($0) } == 1)
    }

    @Test("Of several connections that make one database at once, each finds it made")
    func race() throws {
        let scene = try DatabaseFixture()
        let (path, key, configuration) = (scene.path, scene.keyBytes, configuration("FULL"))
        DispatchQueue.concurrentPerform(iterations: 6) { _ in
            do {
                var configuration = configuration
                configuration.busyMode = .timeout(20)
                let queue = try EncryptedDatabase.queue(
                    at: path, key: .raw(SecretBytes.copying(key.span)), configuration: configuration)
                #expect(try queue.inDatabase { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 1)
            } catch {
                Issue.record(error)
            }
        }
        #expect(try scene.queue().read { try integrity($0) } == "ok")
    }

    @Test("A vault's database takes the setting and keeps it when it is opened again")
    func ofAVault() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("notes", configuration: configuration("FULL"))
            try await queue.write { _ = try fill($0, count: 5) }
            await databases.close()
            let again = try await databases.queue("notes")
            #expect(try await again.read { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 1)
        }
    }
}
