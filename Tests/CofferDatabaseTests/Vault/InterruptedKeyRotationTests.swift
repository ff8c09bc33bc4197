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

@Suite("New keys for databases: interruptions and other processes")
struct InterruptedKeyRotationTests {
    private typealias Scene = RotationScene

    /// The points at which storing a key can fail: before and after each of the two changes.
    @Test(
        "A failure at any step leaves the old key or the new one, and the next opening needs no repair",
        arguments: [TestFaults.FaultPoint.changing, .afterCommit], [0, 1])
    func failures(_ point: TestFaults.FaultPoint, _ skipped: Int) async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let before = try #require(try Scene.key(vault)).token.copyBytes()
            temporary.faults.fail(point, with: CofferError(.noSpace, "full"), after: skipped)
            #expect(await code { try await vault.rotateDatabaseKeys() } == .noSpace)
            let left = try #require(try Scene.key(vault))
            let isDouble = (point, skipped) == (.afterCommit, 0) || (point, skipped) == (.changing, 1)
            #expect(left.token.count == (isDouble ? 64 : 32))
            // Nothing can be stored: the error says why, and nothing changes.
            if isDouble {
                let file = try Data(contentsOf: Scene.path(vault))
                temporary.faults.fail(.changing, with: CofferError(.noSpace, "full"), times: 100)
                #expect(await code { try await Scene.count(vault) } == .noSpace)
                temporary.faults.clear()
                #expect(try Scene.key(vault)?.token.count == 64)
                #expect(try Data(contentsOf: Scene.path(vault)) == file)
            }
            #expect(try await Scene.count(vault) == Scene.rows)
            let now = try #require(try Scene.key(vault)).token.copyBytes()
            #expect((now == before) == (skipped == 0) && now.count == 32)
            let databases = VaultDatabases(vault)
            try await Scene.add(databases.pool("notes"))
            await databases.close()
            #expect(try await vault.rotateDatabaseKeys().replaced == ["database/notes"])
            #expect(try await Scene.count(vault) == Scene.rows + 1)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
        }
    }

    @Test(
        "If the file of an interrupted replacement is gone or another one, both keys stay", arguments: [0, 1])
    func unclear(_ skipped: Int) async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            try await Scene.make(vault, "other")
            let first = skipped == 0 ? TestFaults.FaultPoint.afterCommit : .changing
            temporary.faults.fail(first, with: CofferError(.noSpace, "full"), after: skipped)
            #expect(await code { try await vault.rotateDatabaseKeys() } == .noSpace)
            let whole = try Data(contentsOf: Scene.path(vault))
            let attributes = try #require(try Scene.key(vault)).info.attributes
            // The bytes of one of the two files, at the beginning of the other one.
            let others = try [StoredDatabaseKey.identityAttribute, StoredDatabaseKey.successorAttribute].map {
                let bytes = try #require(attributes[$0].flatMap { HexText.decode($0) })
                return Data(bytes) + whole.dropFirst(bytes.count)
            }
            let mixed = try #require(others.first { $0 != whole })
            let foreign = try Data(contentsOf: Scene.path(vault, "database-other.db"))
            for content in [nil, Data(), foreign, mixed, Data(repeating: 0, count: 8192)] {
                try FileManager.default.removeItem(at: Scene.path(vault))
                try content?.write(to: Scene.path(vault))
                #expect(await code { try await Scene.count(vault) } == .corrupt)
                #expect(try Scene.key(vault)?.token.count == 64)
                #expect(try await vault.rotateDatabaseKeys().replaced == ["database/other"])
                #expect(try Scene.key(vault)?.token.count == 64)
                #expect((try? Data(contentsOf: Scene.path(vault))) == content)
                try whole.write(to: Scene.path(vault))
            }
            #expect(try await Scene.count(vault) == Scene.rows)
            #expect(try Scene.key(vault)?.token.count == 32)
        }
    }

    @Test("A lock while a database is copied leaves its old key and file")
    func lockedMeanwhile() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let before = try Data(contentsOf: Scene.path(vault))
            let refused = await code {
                _ = try VaultDatabaseKeys(vault).replace("database", "notes") { vault.lock() }
            }
            #expect(refused == .locked)
            #expect(try Data(contentsOf: Scene.path(vault)) == before)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
            try await vault.unlock(with: Passcode(copying: Scene.passcode))
            #expect(try Scene.key(vault)?.token.count == 32)
            #expect(try await Scene.count(vault) == Scene.rows)
        }
    }

    @Test("A full disk during the copying is told, and the other databases get their keys")
    func full() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let reason = try VaultDatabaseKeys(vault).replace("database", "notes") {
                () throws(CofferError) in throw CofferError(.noSpace, "full")
            }
            #expect(reason == .noSpace)
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
            #expect(try await Scene.count(vault) == Scene.rows)
        }
    }

    @Test("The key of another database of the same name and version is neither replaced nor settled")
    func meanwhile() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let id = try DatabaseKeyNaming.id("database", "notes")
            let old = try #require(try Scene.key(vault))
            _ = try await VaultDatabases(vault).remove("notes")
            try await Scene.make(vault)
            let stored = try #require(try Scene.key(vault))
            #expect(stored.info.version == old.info.version)
            let value = DatabaseKeyValue(old.token, attributes: old.info.attributes)
            let replaced = await code {
                try vault.tokens.replaceDatabaseKey(id, old.token, through: value, to: value) {
                    Issue.record("The file must not be replaced.")
                }
            }
            let settled = await code {
                try vault.tokens.settleDatabaseKey(id, old.token) { () throws(CofferError) in value }
            }
            #expect(replaced == .conflict && settled == .conflict)
            #expect(try Scene.key(vault)?.token.copyBytes() == stored.token.copyBytes())
            #expect(try await Scene.count(vault) == Scene.rows)
            _ = try await VaultDatabases(vault).remove("notes")
            let gone = await code {
                try vault.tokens.replaceDatabaseKey(id, stored.token, through: value, to: value) {}
            }
            #expect(try gone == .conflict && Scene.key(vault) == nil)
        }
    }

    @Test("A file that another program moved to the database's name stays, and either key is still there")
    func moved() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            try await Scene.make(vault)
            let before = try #require(try Scene.key(vault)).token.copyBytes()
            let path = Scene.path(vault)
            let copy = path.deletingLastPathComponent().appending(path: "copy")
            try FileManager.default.copyItem(at: path, to: copy)
            let reason = try VaultDatabaseKeys(vault).replace("database", "notes") {
                () throws(CofferError) in
                do {
                    try FileManager.default.removeItem(at: path)
                    try FileManager.default.moveItem(at: copy, to: path)
                } catch {
                    throw CofferError(.inputOutput, "\(error)")
                }
            }
            #expect(reason == .inUse)
            #expect(try await Scene.count(vault) == Scene.rows)
            #expect(try Scene.key(vault)?.token.copyBytes() == before)
            #expect(try await vault.rotateDatabaseKeys().replaced == ["database/notes"])
            #expect(try await Scene.count(vault) == Scene.rows)
        }
    }

    @Test("Two replacements at the same time leave each database one key that opens it")
    func twoAtOnce() async throws {
        try await TemporaryVault.with(passcode: Scene.passcode) { temporary in
            let vault = temporary.vault
            for name in ["a", "b", "c"] { try await Scene.make(vault, name, isPool: name == "b") }
            let other = try await temporary.openAnother()
            try await other.unlock(with: Passcode(copying: Scene.passcode))
            for _ in 0..<3 {
                let reports = try await withThrowingTaskGroup(of: DatabaseRotationReport.self) { group in
                    for one in [vault, other] { group.addTask { try await one.rotateDatabaseKeys() } }
                    return try await group.reduce(into: [DatabaseRotationReport]()) { $0.append($1) }
                }
                #expect(reports.allSatisfy { $0.replaced.count + $0.kept.count == 3 }, "\(reports)")
                #expect(reports.allSatisfy { $0.kept.allSatisfy { $0.reason == .inUse } }, "\(reports)")
                for name in ["a", "b", "c"] { #expect(try await Scene.count(vault, name) == Scene.rows) }
            }
            #expect(try await vault.rotateDatabaseKeys().kept.isEmpty)
            for name in ["a", "b", "c"] { #expect(try await Scene.count(other, name) == Scene.rows) }
            #expect(try Scene.names(vault).allSatisfy { !$0.hasPrefix(".") })
        }
    }
}
