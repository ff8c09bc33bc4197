import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import Foundation
import GRDB
import TestSupport
import Testing

/// The forms of the documents that ``RevocationTests`` does not have: classes, stores over a database, what
/// was under way.
@Suite("A vault's databases after its end, form by form")
struct RevocationFormTests {
    private typealias End = RevocationTests.End

    private func use(_ writer: some DatabaseWriter) async -> [CofferError.Code?] {
        let select = "SELECT x FROM t"
        return [
            await failed { _ = try await writer.read { try String.fetchOne($0, sql: select) } },
            await failed { try await writer.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") } },
        ]
    }

    private func failed(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return EncryptedDatabase.failure(error).code
        }
    }

    @Test(
        "A pool opened with VaultDatabases(session).pool(…, class: …) in one line is locked",
        arguments: RevocationTests.End.allCases,
        [ProtectionClass.whenUnlockedThisDeviceOnly, .whenUnlocked, .whenPasscodeSetThisDeviceOnly])
    func classes(_ end: RevocationTests.End, _ protection: ProtectionClass) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes", class: protection)
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x)") }
            #expect(await use(pool) == [nil, nil])
            try await end.of(temporary.vault)
            #expect(await use(pool) == [.locked, .locked])
        }
    }

    @Test("A class that stays through a lock ends with the vault", arguments: RevocationTests.End.allCases)
    func afterFirstUnlock(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes", class: .afterFirstUnlock)
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x)") }
            try await end.of(temporary.vault)
            #expect(await use(pool) == (end == .lock ? [nil, nil] : [.locked, .locked]))
        }
    }

    @Test(
        "A store opened with SoupStore.open(on: database) over a vault's pool is locked",
        arguments: RevocationTests.End.allCases)
    func store(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let store = try await SoupStore.open(on: VaultDatabases(temporary.vault).pool("notes"))
            try await store.registerSoup("accounts", indexSpecs: [IndexSpec("Id", .string)])
            try await store.upsert((0..<40).map { ["Id": .string("\($0)")] }, in: "accounts")
            let cursor = try await store.query(.all(), in: "accounts")
            var entries = store.entries(matching: .all(), in: "accounts").makeAsyncIterator()
            #expect(try await entries.next() != nil)
            try await end.of(temporary.vault)
            #expect(await code { _ = try await store.count(in: "accounts") } == .locked)
            #expect(await code { try await store.upsert([["Id": "new"]], in: "accounts") } == .locked)
            #expect(await code { _ = try await cursor.moveToNextPage() } == .locked)
            #expect(await code { while try await entries.next() != nil {} } == .locked)
            let query = try SmartQuery("SELECT {accounts:Id} FROM {accounts}")
            #expect(await code { for try await _ in store.rows(of: query) {} } == .locked)
        }
    }

    @Test("A snapshot and a pool under observation are locked", arguments: RevocationTests.End.allCases)
    func observers(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let pool = try await VaultDatabases(temporary.vault).pool("notes")
            try await pool.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES ('row')") }
            let snapshot = try pool.makeSnapshot()
            let all = "SELECT x FROM t"
            let observation = ValueObservation.tracking { try String.fetchAll($0, sql: all) }
            var values = observation.values(in: pool).makeAsyncIterator()
            #expect(try await values.next() == ["row"])
            try await end.of(temporary.vault)
            let read = await failed { _ = try await snapshot.read { try String.fetchOne($0, sql: all) } }
            #expect(read == .locked)
            #expect(await use(pool) == [.locked, .locked])
        }
    }

    /// The table is larger than the cache, so the cursor reads pages after the end.
    @Test("A cursor in the middle of its rows is locked", arguments: [RevocationTests.End.lock, .close])
    func cursor(_ end: RevocationTests.End) async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let session = temporary.vault
            let queue = try await VaultDatabases(session).queue("notes")
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA cache_size = 10; CREATE TABLE t (x)")
                try db.inTransaction {
                    for _ in 0..<400 { try db.execute(sql: "INSERT INTO t VALUES (hex(zeroblob(1000)))") }
                    return .commit
                }
            }
            let code = await failed {
                try await queue.read { db in
                    let rows = try Row.fetchCursor(db, sql: "SELECT x FROM t")
                    #expect(try rows.next() != nil)
                    if end == .lock { session.lock() } else { session.close() }
                    while try rows.next() != nil {}
                }
            }
            #expect(code == .locked)
        }
    }

    /// Every way to a database that the documents print, and where it is tested after the end of its vault.
    @Test("The documents show no other form")
    func printed() throws {
        let known: Set = [
            // RevocationTests.pool and .classes here; .queue; .soups; .databases
            "VaultDatabases(vault)", "SoupStores(vault)", "VaultSoupDatabases(vault)",
            // Here.
            "SoupStore.open(on: database)",
            // Without a vault: nothing ends it but its owner.
            "EncryptedDatabase.pool(at: path, key: key)", "EncryptedDatabase.queue(at: path, key: key)",
        ]
        var found: Set<String> = []
        for path in try Self.documents() {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let ways =
                "VaultDatabases|SoupStores|VaultSoupDatabases|SoupStore.open|"
                + "EncryptedDatabase.pool|EncryptedDatabase.queue"
            let form = try Regex("(?:\(ways))\\([^)`]*\\)")
            for match in text.matches(of: form) { found.insert(String(text[match.range])) }
        }
        #expect(found.isSubset(of: known), "\(found.subtracting(known))")
        #expect(found.count > 3)
    }

    private static func documents() throws -> [String] {
        let sources = PackageRoot.path + "Sources"
        let names = try FileManager.default.subpathsOfDirectory(atPath: sources)
        return [PackageRoot.path + "README.md"]
            + names.filter { $0.hasSuffix(".md") }.map { sources + "/" + $0 }
    }
}
