import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import GRDB
import Synchronization
import TestSupport
import Testing

/// Every way of the README and the documentation to a vault's rows, with and without its owner kept: after a
/// lock, a close and a wipe nothing reads and nothing writes.
@Suite("A vault's databases after its end, whatever the program keeps")
struct RevocationTests {
    enum End: CaseIterable {
        case lock, close, wipe

        func of(_ session: Vault) async throws {
            switch self {
            case .lock: session.lock()
            case .close: session.close()
            case .wipe: _ = try await session.wipe()
            }
        }
    }

    /// The objects that a program may keep of the way it opened the database.
    enum Owner: CaseIterable {
        case kept, gone
    }

    private final class Box: Sendable {
        private let owner = Mutex<(any Sendable)?>(nil)
        func keep(_ value: any Sendable) { owner.withLock { $0 = value } }
    }

    private func expectLocked(_ writer: some DatabaseWriter) async {
        let reads: [@Sendable (Database) throws -> Void] = [
            { _ = try String.fetchOne($0, sql: "SELECT x FROM t") }, { _ = try $0.tableExists("t") },
        ]
        for use in reads { await expectLocked { try await writer.read(use) } }
        let writes =
            reads + [
                { try $0.execute(sql: "INSERT INTO t VALUES ('more')") },
                { try $0.execute(sql: "CREATE TABLE u (x)") },
            ]
        for use in writes {
            await expectLocked { try await writer.write(use) }
            await expectLocked { try await writer.writeWithoutTransaction(use) }
        }
    }

    private func expectLocked(_ use: () async throws -> Void) async {
        do {
            try await use()
            Issue.record("A database was used after the end of its vault.")
        } catch {
            #expect(EncryptedDatabase.failure(error).code == .locked, "\(error)")
            // GRDB's own error says so, too.
            #expect(!"\(error)".contains("disk I/O error"), "\(error)")
        }
    }

    @Test(
        "A pool opened with VaultDatabases(vault).pool(…) in one line is locked",
        arguments: End.allCases, Owner.allCases)
    func pool(_ end: End, _ owner: Owner) async throws {
        let box = Box()
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool: DatabasePool
            if owner == .kept {
                let databases = VaultDatabases(temporary.vault)
                box.keep(databases)
                pool = try await databases.pool("notes")
            } else {
                pool = try await VaultDatabases(temporary.vault).pool("notes")
            }
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            try await end.of(temporary.vault)
            await expectLocked(pool)
        }
    }

    @Test(
        "A queue opened with VaultDatabases(vault).queue(…) in one line is locked",
        arguments: End.allCases, Owner.allCases)
    func queue(_ end: End, _ owner: Owner) async throws {
        let box = Box()
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let queue: DatabaseQueue
            if owner == .kept {
                let databases = VaultDatabases(temporary.vault)
                box.keep(databases)
                queue = try await databases.queue("notes")
            } else {
                queue = try await VaultDatabases(temporary.vault).queue("notes")
            }
            try await queue.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            try await end.of(temporary.vault)
            await expectLocked(queue)
        }
    }

    @Test(
        "A store opened with SoupStores(vault).store(…) in one line is locked", arguments: End.allCases,
        Owner.allCases)
    func soups(_ end: End, _ owner: Owner) async throws {
        let box = Box()
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let store: SoupStore
            if owner == .kept {
                let stores = SoupStores(temporary.vault)
                box.keep(stores)
                store = try await stores.store("drafts")
            } else {
                store = try await SoupStores(temporary.vault).store("drafts")
            }
            let storage = try await SecureLocalStorage.open(in: store)
            try await storage.setItem("theme", "dark")
            try await end.of(temporary.vault)
            #expect(await code { _ = try await storage.getItem("theme") } == .locked)
            #expect(await code { try await storage.setItem("theme", "light") } == .locked)
            #expect(await code { _ = try await store.count(in: SecureLocalStorage.defaultSoup) } == .locked)
        }
    }

    @Test(
        "A store opened with VaultSoupDatabases(vault).open(…) in one line is locked",
        arguments: End.allCases)
    func databases(_ end: End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let writer = try await VaultSoupDatabases(temporary.vault).open(SoupStoreName("drafts", .user))
            try await writer.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            try await end.of(temporary.vault)
            await expectLocked(writer)
        }
    }

    @Test("A database that ended stays ended; opened again after the unlock it has its rows")
    func again() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes")
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            temporary.vault.lock()
            await expectLocked(pool)
            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            await expectLocked(pool)
            let again = try await VaultDatabases(temporary.vault).pool("notes")
            #expect(try await again.read { try String.fetchOne($0, sql: "SELECT x FROM t") } == "row")
        }
    }

    /// The program keeps the pool and nothing else: neither the session nor what opened it.
    @Test("A pool alone keeps its session, and another session's wipe reaches it")
    func poolAlone() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            weak var session: Vault?
            func pool() async throws -> DatabasePool {
                let own = try await temporary.openAnother()
                try await own.unlock(with: Passcode(copying: "2468"))
                session = own
                return try await VaultDatabases(own).pool("notes")
            }
            let pool = try await pool()
            #expect(session != nil)
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            #expect(try await pool.read { try String.fetchOne($0, sql: "SELECT x FROM t") } == "row")
            _ = try await temporary.vault.wipe()
            await expectLocked(pool)
        }
    }
}
