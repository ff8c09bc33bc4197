import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import CofferDatabase

@Suite("New keys for the databases of a vault")
struct DatabaseKeyRotationTests {
    private typealias Scene = RotationScene

    @Test("Every database has a new key, file and salt, the same rows and the same class")
    func replaced() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            try await Scene.make(vault, "wal", isPool: true)
            let stores = SoupStores(vault)
            _ = try await stores.store("contacts")
            await stores.close()
            let before = try #require(try Scene.key(vault))
            let salt = try Data(contentsOf: Scene.path(vault)).prefix(32)
            let report = try await vault.rotateDatabaseKeys()
            #expect(report.kept.isEmpty && report.replaced.count == 3, "\(report)")
            #expect(report.replaced.prefix(2) == ["database/notes", "database/wal"])
            let after = try #require(try Scene.key(vault))
            #expect(after.token.copyBytes() != before.token.copyBytes() && after.token.count == 32)
            #expect(after.info.protection == before.info.protection)
            #expect(after.info.attributes.count == 1 && after.info.attributes != before.info.attributes)
            #expect(try Data(contentsOf: Scene.path(vault)).prefix(32) != salt)
            #expect(try await Scene.count(vault) == Scene.rows)
            #expect(try await Scene.count(vault, "wal") == Scene.rows)
            let other = try await temporary.openAnother()
            try await other.unlock(with: Passcode(copying: Scene.passcode))
            #expect(try await Scene.count(other) == Scene.rows)
            #expect(try await SoupStores(other).names().count == 1)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
            #expect(try await vault.rotateDatabaseKeys().replaced.count == 3)
        }
    }

    @Test("An older copy opens later content unless databases' keys are replaced", arguments: [false, true])
    func olderCopy(_ replaces: Bool) async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let folder = URL(filePath: vault.vaultDirectory.string)
            let old = try FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: [.isRegularFileKey]
            ).filter { try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true }
                .map { ($0, try Data(contentsOf: $0)) }
            #expect(try await vault.rotateKeys(passcode: Passcode(copying: Scene.passcode)).isComplete)
            if replaces { #expect(try await vault.rotateDatabaseKeys().kept.isEmpty) }
            let databases = VaultDatabases(vault)
            try await Scene.add(databases.queue("notes"))
            await databases.close()
            vault.close()
            for (file, content) in old { try content.write(to: file) }
            let thief = try await temporary.openAnother()
            try await thief.unlock(with: Passcode(copying: Scene.passcode))
            if replaces {
                #expect(await code { try await Scene.count(thief) } == .notAuthentic)
            } else {
                #expect(try await Scene.count(thief) == Scene.rows + 1)
            }
        }
    }

    @Test("A database that is in use keeps its key, and all that is written to it, until it is closed")
    func inUse() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            let databases = VaultDatabases(vault)
            try await Scene.fill(databases.pool("notes"))
            try await Scene.make(vault, "other")
            let report = try await vault.rotateDatabaseKeys()
            #expect(report.replaced == ["database/other"])
            #expect(report.kept.map(\.name) == ["database/notes"] && report.kept.first?.reason == .inUse)
            try await Scene.add(databases.pool("notes"))
            #expect(try await Scene.count(databases.pool("notes")) == Scene.rows + 1)
            await databases.close()
            let second = try await vault.rotateDatabaseKeys()
            #expect(second.kept.isEmpty, "\(second.kept)")
            #expect(try await Scene.count(vault) == Scene.rows + 1)
        }
    }

    @Test(
        "An idle connection that was not noticed fails at its next write, and nothing is lost",
        arguments: ["delete", "memory", "off"])
    func idle(_ mode: String) async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            let databases = VaultDatabases(vault)
            let queue = try await databases.queue("notes")
            try await Scene.fill(queue)
            let found = try await queue.writeWithoutTransaction { db in
                try String.fetchOne(db, sql: "PRAGMA journal_mode = \(mode)")
            }
            #expect(found == mode)
            #expect(try await vault.rotateDatabaseKeys().replaced == ["database/notes"])
            #expect(await code { try await Scene.add(queue) } == .conflict)
            await databases.close()
            try await Scene.add(databases.queue("notes"))
            #expect(try await Scene.count(databases.queue("notes")) == Scene.rows + 1)
            await databases.close()
        }
    }

    @Test("An idle connection leaves the WAL of the file that replaced its own alone")
    func idleBesideWAL() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            let databases = VaultDatabases(vault)
            let idle = try await databases.queue("notes")
            try await Scene.fill(idle)
            #expect(try await vault.rotateDatabaseKeys().replaced == ["database/notes"])
            let other = try await temporary.openAnother()
            try await other.unlock(with: Passcode(copying: Scene.passcode))
            let others = VaultDatabases(other)
            try await Scene.add(others.pool("notes"))
            let log = try Data(contentsOf: Scene.path(vault, "database-notes.db-wal"))
            #expect(!log.isEmpty)
            // The second one asks for the mode that the connection is in.
            for (statement, expected) in [
                ("SELECT count(*) FROM t", CofferError.Code.conflict), ("PRAGMA journal_mode = delete", nil),
                ("PRAGMA journal_mode = wal", .conflict), ("INSERT INTO t VALUES ('lost')", .conflict),
            ] {
                let refused = await code {
                    do {
                        try await idle.writeWithoutTransaction { try $0.execute(sql: statement) }
                    } catch {
                        throw EncryptedDatabase.failure(error)
                    }
                }
                #expect(refused == expected, "\(statement)")
                #expect(try Data(contentsOf: Scene.path(vault, "database-notes.db-wal")) == log)
            }
            await databases.close()
            try await Scene.add(others.pool("notes"))
            #expect(try await Scene.count(others.pool("notes")) == Scene.rows + 2)
            await others.close()
            #expect(try await Scene.count(vault) == Scene.rows + 2)
        }
    }

    @Test("A database that cannot be read keeps its key and its bytes; the others get theirs, empty ones too")
    func kept() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            for name in ["damaged", "keyless", "linked", "notes"] { try await Scene.make(vault, name) }
            let linked = Scene.path(vault, "database-linked.db")
            let target = linked.deletingLastPathComponent().appending(path: "elsewhere")
            try FileManager.default.moveItem(at: linked, to: target)
            try FileManager.default.createSymbolicLink(at: linked, withDestinationURL: target)
            // As a process leaves it that is killed before it writes the first page.
            try vault.tokens.putDatabaseKey(
                Token(copying: [UInt8](repeating: 1, count: StoredDatabaseKey.byteCount)),
                for: DatabaseKeyNaming.id("database", "empty"), class: .whenUnlocked, attributes: [:],
                precondition: .absent)
            try Data().write(to: Scene.path(vault, "database-empty.db"))
            try await vault.tokens.remove(DatabaseKeyNaming.id("database", "keyless"))
            let damaged = Scene.path(vault, "database-damaged.db")
            var bytes = try Data(contentsOf: damaged)
            bytes[5000] ^= 1
            try bytes.write(to: damaged)
            try Data("text".utf8).write(to: Scene.path(vault, "not-a.db.txt"))
            let report = try await vault.rotateDatabaseKeys()
            #expect(report.replaced == ["database/empty", "database/notes"])
            #expect(
                report.kept.map { "\($0.name) \($0.reason)" } == [
                    "database/damaged unreadable", "database/keyless unreadable",
                    "database/linked unreadable",
                ])
            let kept = try FileManager.default.destinationOfSymbolicLink(atPath: linked.path())
            #expect(kept.hasSuffix("elsewhere"))
            #expect(try Data(contentsOf: damaged) == bytes)
            try await Scene.make(vault, "empty")
            #expect(try await Scene.count(vault, "empty") == Scene.rows)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
        }
    }

    @Test("A locked vault replaces nothing; one without databases has nothing to replace")
    func locked() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            #expect(try await vault.rotateDatabaseKeys() == DatabaseRotationReport())
            try await Scene.make(vault)
            let before = try Data(contentsOf: Scene.path(vault))
            vault.lock()
            #expect(await code { try await vault.rotateDatabaseKeys() } == .locked)
            #expect(try Data(contentsOf: Scene.path(vault)) == before)
            try await vault.unlock(with: Passcode(copying: Scene.passcode))
            #expect(try await Scene.count(vault) == Scene.rows)
        }
    }

    @Test("Session-only databases are left out")
    func volatile() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("scratch", isVolatile: true)
            try await Scene.fill(queue)
            #expect(try await temporary.vault.rotateDatabaseKeys() == DatabaseRotationReport())
            try await Scene.add(queue)
            #expect(try await Scene.count(queue) == Scene.rows + 1)
        }
    }

    @Test("An export finds the new key, and a restoration that began under the old key changes nothing")
    func copies() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            let scratch = try ScratchDirectory.make()
            try await Scene.make(vault)
            let pages = try Self.pages(of: vault)
            var next = 0
            let refused = await code {
                try DatabaseBackups(vault).restore(
                    "database", "notes", class: .whenUnlocked, replacing: true
                ) { (span) throws(CofferError) in
                    guard next < pages.count else {
                        // The content is complete: the database is opened next.
                        _ = try VaultDatabaseKeys(vault).replace("database", "notes") {}
                        return 0
                    }
                    let page = pages[next]
                    span.write(page.span, at: 0)
                    next += 1
                    return span.count
                }
            }
            #expect(refused == .conflict)
            #expect(try await Scene.count(vault) == Scene.rows)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
            let target = scratch.path.appending("plain.db")
            try await VaultDatabases(vault).exportPlain("notes", to: target)
            let plain = try DatabaseQueue(path: target.string)
            #expect(try await Scene.count(plain) == Scene.rows)
        }
    }

    /// The plain pages of the database, as a backup has them.
    private static func pages(of vault: Vault) throws -> [[UInt8]] {
        let snapshot = try DatabaseBackups(vault).snapshot("database", "notes")
        var pages: [[UInt8]] = []
        try snapshot.read { (page) throws(CofferError) in pages.append(page.copied()) }
        return pages
    }

    @Test(
        "A vault whose keys are in the Secret Service keeps them",
        .enabled { await FakeSecretService.isPossible() })
    func secretService() async throws {
        try await FakeSecretService.with { service in
            try await TemporaryVault.with(service: service) { temporary in
                try await Scene.make(temporary.vault)
                let before = try Scene.key(temporary.vault)
                #expect(await code { try await temporary.vault.rotateDatabaseKeys() } == .unsupported)
                #expect(try Scene.key(temporary.vault)?.token.copyBytes() == before?.token.copyBytes())
                #expect(try await Scene.count(temporary.vault) == Scene.rows)
            }
        }
    }
}
