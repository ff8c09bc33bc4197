import Coffer
import CofferBase
import CofferDatabase
import CofferEngine
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import Testing
import TestSupport

@Suite("Session-only databases")
struct VolatileDatabaseTests {
    private static let passcode = "2468"
    private static let canary = "canary-61c07e"

    private func fill(_ writer: some DatabaseWriter) async throws {
        try await writer.write { db in
            try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (?)", arguments: [Self.canary])
        }
    }

    private func isEmpty(_ reader: any DatabaseReader) async throws -> Bool {
        try await reader.read { try !$0.tableExists("t") }
    }

    private func count(_ reader: any DatabaseReader) async throws -> Int? {
        try await reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
    }

    private func expectLocked(_ writer: some DatabaseWriter) async {
        let uses: [@Sendable (Database) throws -> Void] = [
            { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM t") },
            { try $0.execute(sql: "INSERT INTO t VALUES (1)") },
        ]
        for use in uses {
            do {
                try await writer.write(use)
                Issue.record("A database was used after the end of its session.")
            } catch {
                #expect(EncryptedDatabase.failure(error).code == .locked, "\(error)")
            }
        }
        do {
            _ = try await count(writer)
            Issue.record("A database was read after the end of its session.")
        } catch {
            #expect(EncryptedDatabase.failure(error).code == .locked, "\(error)")
        }
    }

    private static func folder(_ location: VaultLocation) -> String {
        location.path.appending("vault").appending("soups").string
    }

    /// The names in the vault's directory of databases.
    private static func names(_ location: VaultLocation) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder(location)) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder(location))
    }

    /// The ways in which a lock ends a session.
    enum End: CaseIterable {
        case lock, close, inactivity, background

        func of(_ session: Vault, _ clock: TestClock) {
            switch self {
            case .lock: session.lock()
            case .close: session.close()
            case .inactivity:
                clock.advance(by: .seconds(61))
                _ = session.isUnlocked
            case .background:
                session.enterBackground()
                clock.advance(by: .seconds(61))
                _ = session.isUnlocked
            }
        }
    }

    @Test(
        "Every lock revokes the keys of all classes, and the files are gone when it returns",
        arguments: End.allCases,
        [ProtectionClass.whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly])
    func everyLockEndsThem(_ end: End, protection: ProtectionClass) async throws {
        var options = VaultOptions()
        options.inactivity = .seconds(60)
        try await TemporaryVault.with(passcode: Self.passcode, options: options) { temporary in
            let databases = VaultDatabases(temporary.vault)
            let stored = try await databases.queue("stored", class: protection)
            try await fill(stored)
            let before = try Self.names(temporary.location).sorted()
            let pool = try await databases.pool("pool", class: protection, isVolatile: true)
            let queue = try await databases.queue("queue", class: protection, isVolatile: true)
            try await fill(pool)
            try await fill(queue)
            #expect(try Self.names(temporary.location).count == before.count + 2)
            end.of(temporary.vault, temporary.clock)
            #expect(try Self.names(temporary.location).sorted() == before)
            await expectLocked(pool)
            await expectLocked(queue)
            // What the connections do when they are closed leaves nothing, either.
            await databases.close()
            #expect(try Self.names(temporary.location).sorted() == before)
            temporary.vault.enterForeground()
            try await temporary.vault.unlock(with: Passcode(copying: Self.passcode))
            #expect(try await databases.names() == ["stored"])
            #expect(try await databases.info(of: "pool") == nil)
            let fresh = try await databases.pool("pool", class: protection, isVolatile: true)
            #expect(try await isEmpty(fresh))
            #expect(try await count(await databases.queue("stored")) == 1)
            await expectLocked(pool)
        }
    }

    @Test("A lock within a transaction ends it, whatever the journal", arguments: ["delete", "wal"])
    func lockDuringWrite(journal: String) async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("scratch", isVolatile: true)
            _ = try await queue.writeWithoutTransaction {
                try String.fetchOne($0, sql: "PRAGMA journal_mode = \(journal)")
            }
            try await fill(queue)
            let (session, location) = (temporary.vault, temporary.location)
            await #expect(throws: (any Error).self) {
                try await queue.write { db in
                    try db.execute(sql: "INSERT INTO t VALUES ('uncommitted')")
                    session.lock()
                    #expect(try Self.names(location).isEmpty)
                    try db.execute(sql: "INSERT INTO t SELECT hex(randomblob(9000)) FROM t")
                }
            }
            await expectLocked(queue)
            try await session.unlock()
            #expect(try await isEmpty(await databases.queue("scratch", isVolatile: true)))
            await expectLocked(queue)
            await databases.close()
            #expect(try Self.names(location).count == 1)
        }
    }

    @Test("A wipe ends and removes them")
    func wipe() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("scratch", isVolatile: true)
            try await fill(queue)
            _ = try await temporary.vault.wipe()
            await expectLocked(queue)
            let refused = await code { try await databases.queue("scratch", isVolatile: true) }
            #expect(refused == .wiped)
            #expect(try Self.names(temporary.location).isEmpty)
        }
    }

    @Test("What a killed process left stays while the process lives, and goes with the next opening")
    func killed() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let session = try await Vault.create(at: location, passcode: nil)
        let arguments = ["gcm1", "00", location.path.string, "delete"]
        let agent = try #require(Helper([DatabaseAgent.path, "volatile"] + arguments))
        let left = try Self.names(location)
        #expect(left.count == 2 && left.allSatisfy { $0.hasPrefix("volatile-") })
        let other = try await Vault(at: location)
        try await other.unlock()
        let databases = VaultDatabases(other)
        let queue = try await databases.queue("queue", isVolatile: true)
        #expect(try await isEmpty(queue))
        #expect(try Set(left).isSubset(of: Self.names(location)))
        agent.kill()
        #expect(try Set(left).isSubset(of: Self.names(location)))
        // A program that has the vault open removes them with its next session-only database.
        _ = try await databases.queue("another", isVolatile: true)
        #expect(try Set(Self.names(location)).isDisjoint(with: left))
        let second = try #require(Helper([DatabaseAgent.path, "volatile"] + arguments))
        #expect(try Self.names(location).count == 4)
        second.kill()
        let last = try await Vault(at: location)
        #expect(try Self.names(location).count == 2)
        let third = try #require(Helper([DatabaseAgent.path, "volatile"] + arguments))
        third.kill()
        #expect(try Self.names(location).count == 4)
        // As `coffer lock` does, without opening the vault: it removes those of this process, too.
        try await Vault.lock(at: location)
        #expect(try Self.names(location).isEmpty)
        for vault in [session, other, last] { vault.close() }
    }

    @Test("Each vault object has its own, under any name, and a lock of one ends no other's")
    func anotherSession() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let queue = try await databases.queue("scratch", isVolatile: true)
            try await fill(queue)
            let other = try await temporary.openAnother()
            try await other.unlock()
            let others = VaultDatabases(other)
            #expect(try await others.names().isEmpty)
            #expect(try await isEmpty(await others.queue("scratch", isVolatile: true)))
            other.lock()
            #expect(try Self.names(temporary.location).count == 1)
            #expect(try await count(queue) == 1)
        }
    }

    @Test("A name is either stored or session-only, until the database is removed")
    func sameName() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            let stored = try await databases.queue("stored")
            try await fill(stored)
            let scratch = try await databases.queue("scratch", isVolatile: true)
            try await fill(scratch)
            for _ in 0..<2 {
                #expect(await code { try await databases.queue("stored", isVolatile: true) } == .conflict)
                #expect(await code { try await databases.queue("scratch") } == .conflict)
                await databases.close()
            }
            #expect(try await databases.names() == ["scratch", "stored"])
            #expect(try await databases.info(of: "stored")?.isVolatile == false)
            #expect(try await databases.info(of: "scratch")?.isVolatile == true)
            // Closed and opened again within the session, it is the same database.
            #expect(try await count(await databases.queue("scratch", isVolatile: true)) == 1)
            #expect(try await databases.remove("scratch"))
            #expect(try await !databases.remove("scratch"))
            await expectLocked(scratch)
            #expect(try await databases.names() == ["stored"])
            #expect(try await isEmpty(await databases.queue("scratch", isVolatile: true)))
            #expect(try await count(await databases.queue("stored")) == 1)
        }
    }

    @Test("The program may keep nothing but the queue")
    func onlyTheQueue() async throws {
        try await TemporaryVault.with { temporary in
            let queue = try await VaultDatabases(temporary.vault).queue("scratch", isVolatile: true)
            try await fill(queue)
            #expect(try await count(queue) == 1)
            temporary.vault.lock()
            #expect(try Self.names(temporary.location).isEmpty)
            await expectLocked(queue)
        }
    }

    @Test("A locked vault creates none; a class that needs a passcode needs one here, too")
    func refusals() async throws {
        try await TemporaryVault.with(passcode: Self.passcode) { (temporary) async throws in
            temporary.vault.lock()
            let databases = VaultDatabases(temporary.vault)
            #expect(await code { try await databases.queue("scratch", isVolatile: true) } == .locked)
            #expect(try Self.names(temporary.location).isEmpty)
        }
        try await TemporaryVault.with { (temporary) async throws in
            let databases = VaultDatabases(temporary.vault)
            let refused = await code {
                try await databases.queue("scratch", class: .whenPasscodeSetThisDeviceOnly, isVolatile: true)
            }
            #expect(refused == .refused)
            #expect(try Self.names(temporary.location).isEmpty)
        }
    }

    @Test("No token has the key, and nothing of the rows stands in the files")
    func canary() async throws {
        try await TemporaryVault.with { temporary in
            let databases = VaultDatabases(temporary.vault)
            try await fill(await databases.pool("scratch", isVolatile: true))
            let id = try TokenID(service: "coffer.soups", account: "database/scratch", kind: .other)
            #expect(try await temporary.vault.tokens.get(id) == nil)
            let run = try CommandRun.run("grep", ["-rlaF", Self.canary, temporary.location.path.string])
            #expect(run.text.isEmpty)
            let name = try #require(try Self.names(temporary.location).first)
            let status = try FileManager.default.attributesOfItem(
                atPath: "\(Self.folder(temporary.location))/\(name)")
            #expect(status[.posixPermissions] as? Int == 0o700)
        }
    }

    // MARK: What is not removed, and where none is created

    @Test("The cleanup follows no link and removes nothing of another form")
    func whatIsNotTheirs() async throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("precious", [1, 2, 3])
        try await TemporaryVault.with { temporary in
            _ = try await VaultDatabases(temporary.vault).queue("stored")
            let folder = Self.folder(temporary.location)
            let digits = String(repeating: "0", count: 31)
            let manager = FileManager.default
            let (link, file) = ("volatile-\(digits)1", "volatile-\(digits)2")
            try manager.createSymbolicLink(
                atPath: "\(folder)/\(link)", withDestinationPath: scratch.path.string)
            try Data().write(to: URL(filePath: "\(folder)/\(file)"))
            let ended = "volatile-\(digits)3"
            let others = ["volatile-\(digits)", "volatile-\(digits)A", "Volatile-\(digits)4"]
            let (unleased, empty) = ("volatile-\(digits)5", "volatile-\(digits)6")
            for name in others + [ended, unleased, empty] {
                try manager.createDirectory(
                    atPath: "\(folder)/\(name)", withIntermediateDirectories: false)
            }
            try manager.createSymbolicLink(
                atPath: "\(folder)/\(ended)/link", withDestinationPath: scratch.path.string)
            try Data().write(to: URL(filePath: "\(folder)/\(ended)/lease"))
            try Data([1]).write(to: URL(filePath: "\(folder)/\(unleased)/precious"))
            _ = try await temporary.openAnother()
            let left = try Set(Self.names(temporary.location))
            #expect(left.isSuperset(of: others + [link, file, unleased]))
            #expect(left.isDisjoint(with: [ended, empty]))
            #expect(try manager.contentsOfDirectory(atPath: "\(folder)/\(unleased)") == ["precious"])
            #expect(try scratch.names() == ["precious"])
        }
    }

    @Test("None is created behind a link")
    func linkedFolder() async throws {
        let scratch = try ScratchDirectory.make()
        try await TemporaryVault.with { temporary in
            try FileManager.default.createSymbolicLink(
                atPath: Self.folder(temporary.location), withDestinationPath: scratch.path.string)
            let databases = VaultDatabases(temporary.vault)
            #expect(await code { try await databases.queue("scratch", isVolatile: true) } == .refused)
            #expect(try scratch.names().isEmpty)
        }
    }

    @Test(
        "A directory that cannot be written to is an error, and nothing is listed",
        .enabled(if: Environment.userID != 0, "root writes anywhere"))
    func readOnlyFolder() async throws {
        try await TemporaryVault.with { temporary in
            let folder = Self.folder(temporary.location)
            let manager = FileManager.default
            try manager.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try manager.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder)
            let databases = VaultDatabases(temporary.vault)
            #expect(
                await code { try await databases.queue("scratch", isVolatile: true) } == .permissionDenied)
            #expect(try await databases.names().isEmpty)
            try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
            try await fill(await databases.queue("scratch", isVolatile: true))
        }
    }

    // MARK: Soups

    @Test("Session-only stores go with a lock, and know only their own names")
    func soups() async throws {
        try await TemporaryVault.with(passcode: Self.passcode) { temporary in
            let kept = SoupStores(temporary.vault)
            try await kept.store("kept").registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
            let stores = SoupStores(
                temporary.vault, class: .afterFirstUnlockThisDeviceOnly, isVolatile: true)
            let store = try await stores.store("drafts")
            try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
            try await store.upsert([["a": .string(Self.canary)]], in: "a")
            #expect(try await stores.names() == ["drafts"])
            #expect(try await kept.names() == ["kept"])
            #expect(await code { try await stores.store("kept") } == .conflict)
            temporary.vault.lock()
            #expect(await code { try await store.count(in: "a") } == .locked)
            #expect(try Self.names(temporary.location).allSatisfy { !$0.hasPrefix("volatile-") })
            try await temporary.vault.unlock(with: Passcode(copying: Self.passcode))
            #expect(try await stores.names().isEmpty)
            // The lock's event may still close what the first actor opens.
            let others = SoupStores(temporary.vault, isVolatile: true)
            #expect(try await others.store("drafts").soupNames().isEmpty)
            #expect(try await others.remove("drafts"))
            #expect(try await others.names().isEmpty)
            #expect(try await kept.names() == ["kept"])
        }
    }
}
