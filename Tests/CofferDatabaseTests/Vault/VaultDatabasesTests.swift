import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("A program's own databases in a vault")
struct VaultDatabasesTests {
    private static let canary = "canary-9be77a"

    private func fill(_ writer: some DatabaseWriter) async throws {
        try await writer.write { db in
            try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (?)", arguments: [Self.canary])
        }
    }

    private func count(_ writer: any DatabaseReader) async throws(CofferError) -> Int? {
        do {
            return try await writer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    @Test("A lock takes back an open database's key at once; the passcode brings the database back")
    func lock() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("notes")
            try await fill(pool)
            #expect(try await databases.pool("notes") === pool)
            let open = try #require(try await databases.info(of: "notes"))
            #expect(open.isOpen && open.isAvailable)
            temporary.vault.lock()
            // Not after a while: the key is gone when the call comes back.
            #expect(await code { _ = try await count(pool) } == .locked)
            #expect(await code { _ = try await databases.pool("notes") } == .locked)
            #expect(await code { _ = try await databases.queue("new") } == .locked)
            let info = try #require(try await databases.info(of: "notes"))
            #expect(info.protection == .whenUnlockedThisDeviceOnly && !info.isAvailable)
            #expect(try await databases.names() == ["notes"])
            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            let again = try await databases.pool("notes")
            #expect(again !== pool)
            #expect(try await count(again) == 1)
        }
    }

    /// The ways to end a database that other code still references.
    enum End: CaseIterable {
        case lock, close, closeAll, remove, closingTheSession, wipe

        func of(_ name: String, _ databases: VaultDatabases, _ session: Vault) async throws {
            switch self {
            case .lock: session.lock()
            case .close: await databases.close(name)
            case .closeAll: await databases.close()
            case .remove: #expect(try await databases.remove(name))
            case .closingTheSession: session.close()
            case .wipe: _ = try await session.wipe()
            }
            // Also what the session's end sets going is over then.
            await databases.close()
        }
    }

    @Test("Every use of an ended database is an error", arguments: End.allCases)
    func afterwards(_ end: End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("pool")
            let queue = try await databases.queue("queue")
            try await fill(pool)
            try await fill(queue)
            try await end.of("pool", databases, temporary.vault)
            if [.close, .remove].contains(end) { try await end.of("queue", databases, temporary.vault) }
            await expectLocked(pool)
            await expectLocked(queue)
        }
    }

    private func expectLocked(_ writer: some DatabaseWriter) async {
        #expect(await code { _ = try await count(writer) } == .locked)
        let uses: [@Sendable (Database) throws -> Void] = [
            { try $0.execute(sql: "INSERT INTO t VALUES (1)") },
            { try $0.execute(sql: "CREATE TABLE u (x)") },
            { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM t") },
            { _ = try $0.tableExists("t") },
        ]
        for use in uses {
            #expect(await code { try await mapped { try await writer.write(use) } } == .locked)
            #expect(
                await code { try await mapped { try await writer.writeWithoutTransaction(use) } } == .locked)
        }
    }

    private func mapped(_ body: () async throws -> Void) async throws(CofferError) {
        do { try await body() } catch { throw EncryptedDatabase.failure(error) }
    }

    @Test("A database that the program closed itself is ended like the rest", arguments: End.allCases)
    func closedByTheProgram(_ end: End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("pool")
            let queue = try await databases.queue("queue")
            try await fill(pool)
            try await fill(queue)
            try pool.close()
            try queue.close()
            try await end.of("pool", databases, temporary.vault)
            if [.close, .remove].contains(end) { try await end.of("queue", databases, temporary.vault) }
            guard [.close, .closeAll].contains(end) else { return }
            #expect(try await count(await databases.pool("pool")) == 1)
            #expect(try await count(await databases.queue("queue")) == 1)
        }
    }

    @Test("A queue or pool that the program closed through GRDB is not returned again, but opened")
    func closedThroughGRDB() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("notes")
            try await fill(pool)
            try pool.close()
            #expect(try await databases.info(of: "notes")?.isOpen == false)
            let queue = try await databases.queue("notes")
            #expect(try await count(queue) == 1)
            #expect(try await databases.queue("notes") === queue)
            try queue.close()
            let again = try await databases.pool("notes")
            #expect(try await count(again) == 1)
            #expect(try await databases.info(of: "notes")?.isOpen == true)
            // A snapshot keeps a file open that is not the pool's.
            let snapshot = try again.makeSnapshot()
            try again.close()
            let last = try await databases.pool("notes")
            #expect(last !== again)
            #expect(try await count(last) == 1)
            #expect(await code { _ = try await count(snapshot) } == .locked)
        }
    }

    @Test("A database that is closed is whole without its write-ahead log")
    func closedIsWhole() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("notes")
            try await fill(pool)
            await databases.close("notes")
            let folder = temporary.location.path.string
            let log = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: folder).first { $0.hasSuffix("-wal") })
            let size = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(log)")[.size] as? Int
            #expect(size == 0)
            #expect(try await count(await databases.pool("notes")) == 1)
            withExtendedLifetime(pool) {}
        }
    }

    @Test("A write that a lock meets fails, and what was committed stays")
    func lockDuringWrite() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("notes")
            try await fill(queue)
            let session = temporary.vault
            await #expect(throws: (any Error).self) {
                try await queue.write { db in
                    try db.execute(sql: "INSERT INTO t VALUES ('uncommitted')")
                    session.lock()
                    try db.execute(sql: "INSERT INTO t SELECT hex(randomblob(9000)) FROM t")
                }
            }
            try await temporary.vault.unlock()
            #expect(try await count(await databases.queue("notes")) == 1)
        }
    }

    @Test("Nothing of the rows stands in the files")
    func canary() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(await databases.pool("notes"))
            let run = try CommandRun.run("grep", ["-rlaF", Self.canary, temporary.location.path.string])
            #expect(run.text.isEmpty)
            let files = try FileManager.default.subpathsOfDirectory(atPath: temporary.location.path.string)
            #expect(files.contains { $0.hasSuffix("notes.db") })
        }
    }

    @Test("A class that outlasts a lock keeps its database open; closing the session closes it")
    func afterFirstUnlock() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("sync", class: .afterFirstUnlockThisDeviceOnly)
            try await fill(queue)
            temporary.vault.lock()
            #expect(try await count(queue) == 1)
            await databases.close("sync")
            // The class of a database that is there stays, whatever is asked for.
            let again = try await databases.queue("sync", class: .whenUnlocked)
            #expect(try await count(again) == 1)
            #expect(try await databases.info(of: "sync")?.protection == .afterFirstUnlockThisDeviceOnly)
            temporary.vault.close()
            #expect(await code { _ = try await count(again) } == .locked)
        }
    }

    @Test("A database that needs a passcode is counted and destroyed with it, open or not")
    func requiresPasscode() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            let bound = try await databases.pool("bound", class: .whenPasscodeSetThisDeviceOnly)
            try await fill(bound)
            try await fill(await databases.pool("other"))
            let dependent = try await temporary.vault.passcodeDependentItems()
            #expect(dependent.databases == 1 && dependent.tokens == 0 && dependent.files == 0)
            let destroyed = try await temporary.vault.changePasscode(
                to: nil, current: Passcode(copying: "2468"))
            #expect(destroyed == dependent)
            #expect(await code { _ = try await count(bound) } == .locked)
            #expect(try await databases.names() == ["other"])
            #expect(try await count(await databases.pool("other")) == 1)
            await databases.close()
            #expect(
                await code {
                    _ = try await databases.pool("bound", class: .whenPasscodeSetThisDeviceOnly)
                } == .refused)
        }
    }

    @Test("Wiping the vault destroys every database")
    func wipe() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let pool = try await databases.pool("notes")
            try await fill(pool)
            _ = try await temporary.vault.wipe()
            #expect(await code { _ = try await count(pool) } == .locked)
            #expect(await code { _ = try await databases.pool("notes") } == .wiped)
            let left = try FileManager.default.subpathsOfDirectory(atPath: temporary.location.path.string)
            #expect(!left.contains { $0.contains("notes") })
        }
    }

    @Test("A database can be destroyed while the vault is locked, and a new one has another key")
    func removeWhileLocked() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(await databases.pool("notes"))
            temporary.vault.lock()
            #expect(try await databases.remove("notes"))
            #expect(try await !databases.remove("notes"))
            #expect(try await databases.info(of: "notes") == nil)
            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            try await fill(await databases.pool("notes"))
        }
    }

    @Test("A database without its key is an error, and stays as it is")
    func missingKey() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(await databases.queue("notes"))
            await databases.close()
            let id = try TokenID(service: "coffer.soups", account: "database/notes", kind: .other)
            try await temporary.vault.tokens.remove(id)
            #expect(await code { _ = try await databases.queue("notes") } == .corrupt)
            #expect(try await databases.info(of: "notes")?.isAvailable == false)
            #expect(try await databases.names() == ["notes"])
        }
    }

    /// Cuts the file of a closed database to nothing, or takes it away.
    private func empty(_ temporary: borrowing TemporaryVault, _ name: String, isRemoved: Bool) throws {
        let folder = temporary.location.path.string
        let file = try #require(
            try FileManager.default.subpathsOfDirectory(atPath: folder).first { $0.hasSuffix(name) })
        try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
        if !isRemoved { try Data().write(to: URL(filePath: "\(folder)/\(file)")) }
    }

    @Test("A database that is empty now is damage and no new one", arguments: [true, false], [true, false])
    func shrunk(isRemoved: Bool, isPool: Bool) async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let open = { () async throws -> any DatabaseWriter in
                isPool ? try await databases.pool("notes") : try await databases.queue("notes")
            }
            // One that never got a page is new once more.
            _ = try await databases.queue("notes")
            await databases.close()
            try await fill(await open())
            await databases.close()
            #expect(try await count(await open()) == 1)
            await databases.close()
            try empty(temporary, "notes.db", isRemoved: isRemoved)
            #expect(await code { _ = try await databases.pool("notes") } == .corrupt)
            #expect(await code { _ = try await databases.queue("notes") } == .corrupt)
            #expect(try await databases.remove("notes"))
            try await fill(await open())
            let stores = SoupStores(temporary.vault)
            try await stores.store("drafts").registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
            await stores.close()
            try empty(temporary, "drafts.db", isRemoved: isRemoved)
            #expect(await code { _ = try await stores.store("drafts") } == .corrupt)
        }
    }

    @Test("Wrong names and a second way of opening are errors; stores and databases do not meet")
    func refusals() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            for name in ["", ".x", "a/b", "ä", String(repeating: "a", count: 65)] {
                #expect(await code { _ = try await databases.pool(name) } == .invalidInput)
            }
            async let first = databases.pool("notes")
            async let second = databases.pool("notes")
            let pools = try await (first, second)
            #expect(pools.0 === pools.1)
            #expect(await code { _ = try await databases.queue("notes") } == .conflict)
            let stores = SoupStores(temporary.vault)
            _ = try await stores.store("notes")
            #expect(try await stores.names() == ["notes"])
            #expect(try await databases.names() == ["notes"])
            try await stores.remove("notes")
            #expect(try await databases.names() == ["notes"])
        }
    }
}
