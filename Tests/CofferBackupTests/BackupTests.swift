import Coffer
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import CofferBackup

@Suite("Backups of whole vaults", .timeLimit(.minutes(10)))
struct BackupTests {
    private let scene: BackupScene

    init() throws { scene = try BackupScene() }

    /// The accounts of the tokens, without the keys of databases.
    private func accounts(_ vault: Vault) async throws -> [String] {
        try await vault.tokens.list().filter { $0.id.service == "s" }.map(\.id.account)
    }

    @Test("Movable items come back in another vault exactly as they were; the rest is told with its reason")
    func otherVault() async throws {
        let vault = try await scene.create()
        let id = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.fill(vault, .whenUnlockedThisDeviceOnly)
        let contents = try await scene.backUp(vault)
        #expect(contents.counts.movable == 3 && contents.counts.deviceOnly == 3)
        #expect(contents.omitted.isEmpty && contents.vaultID == vault.vaultID.description)
        let other = try await scene.create("other")
        let trial = try await scene.restore(other, isTrial: true)
        #expect(trial.added == 3 && trial.impossible == 3 && trial.total == 6)
        #expect(try await other.tokens.count() == 0)
        let report = try await scene.restore(other)
        #expect(report == trial, "\(report)")
        let name = try TokenID(service: "s", account: "whenUnlocked", kind: .other)
        let (old, new) = (try await vault.tokens.get(name), try await other.tokens.get(name))
        #expect(new?.token.copyBytes() == old?.token.copyBytes() && new != nil)
        #expect(new?.info == old?.info)
        let info = try await other.files.info(for: id)
        #expect(info.name.string == "whenUnlocked.bin" && info.protection == .whenUnlocked)
        #expect(info.modified == Date(timeIntervalSince1970: 1_600_000_000))
        let content = try await other.files.withDecryptedBytes(of: id) { $0.copied() }
        #expect(content == BackupScene.content(.whenUnlocked))
        #expect(try await BackupScene.rows(other, "db-whenUnlocked") == 500)
        #expect(report.items.allSatisfy { $0.outcome == .impossible(.otherDevice) })
        let again = try await scene.restore(other)
        #expect(again.equal == 3 && again.impossible == 3 && again.added == 0, "\(again)")
    }

    @Test("Key pairs never leave the vault: a backup names each, and their damaged file")
    func keyPairs() async throws {
        let vault = try await scene.create()
        _ = try await scene.fill(vault, .whenUnlocked)
        _ = try await vault.keyPairs.generate(.ed25519, alias: "work e\u{301}", class: .whenUnlocked)
        _ = try await vault.keyPairs.generate(.p256, alias: "home")
        let contents = try await scene.backUp(vault)
        #expect(
            contents.omitted == [
                OmittedItem(path: "keypairs/home", reason: .notExportable),
                OmittedItem(path: "keypairs/work e\u{301}", reason: .notExportable),
            ])
        let listed = try await VaultBackup.contents(at: scene.path, with: scene.opening)
        #expect(listed.omitted == contents.omitted)
        let other = try await scene.create("other")
        #expect(try await scene.restore(other).added == 3)
        #expect(try await other.keyPairs.list().isEmpty)

        let file = scene.path.removingLastComponent().appending("home/vault/keypairs").string
        try Data(repeating: 7, count: 100).write(to: URL(fileURLWithPath: file))
        let damaged = try await vault.createBackup(
            at: scene.scratch.path.appending("second.age"), for: scene.key)
        #expect(damaged.omitted == [OmittedItem(path: "keypairs", reason: .damaged)])
        #expect(damaged.counts.movable == 3)
    }

    @Test("What was removed comes back in the same vault, sealed items, too, and what is there is equal")
    func sameVault() async throws {
        let vault = try await scene.create()
        let movable = try await scene.fill(vault, .whenUnlocked)
        let bound = try await scene.fill(vault, .whenPasscodeSetThisDeviceOnly)
        _ = try await scene.backUp(vault)
        let unchanged = try await scene.restore(vault)
        // A sealed database is not compared, and never replaces the one that is there.
        #expect(unchanged.equal == 5 && unchanged.kept == 1, "\(unchanged)")
        for protection in [ProtectionClass.whenUnlocked, .whenPasscodeSetThisDeviceOnly] {
            try await vault.tokens.remove(
                TokenID(service: "s", account: protection.name, kind: .other))
            try await VaultDatabases(vault).remove("db-\(protection.name)")
        }
        try await vault.files.remove(movable)
        try await vault.files.remove(bound)
        let report = try await scene.restore(vault)
        #expect(report.added == 6 && report.total == 6, "\(report)")
        let content = try await vault.files.withDecryptedBytes(of: bound) { $0.copied() }
        #expect(content == BackupScene.content(.whenPasscodeSetThisDeviceOnly))
        #expect(try await BackupScene.rows(vault, "db-whenPasscodeSetThisDeviceOnly") == 500)
        #expect(try await accounts(vault).count == 2)
        #expect(try await vault.files.verifyAll().corrupt.isEmpty)
    }

    @Test(
        "Sessions at OAuth servers are in no backup, and none comes back: its token can be spent",
        arguments: [ProtectionClass.whenUnlocked, .whenUnlockedThisDeviceOnly])
    func sessions(protection: ProtectionClass) async throws {
        let vault = try await scene.create()
        let own =
            [("oauth-profile:w", .other), ("oauth:w", .refresh), ("oauth:w#grant", .other)]
            as [(String, TokenKind)]
        for (service, kind) in own {
            try await vault.tokens.putReserved(
                Token(copying: Array("own".utf8)), for: TokenID(service: service, account: "ada", kind: kind),
                class: protection)
        }
        try await vault.tokens.put(
            Token(copying: Array("token".utf8)), for: TokenID(service: "s", account: "a", kind: .other),
            class: protection)
        let contents = try await scene.backUp(vault)
        #expect(contents.reserved == 3 && contents.counts.tokens + contents.counts.deviceTokens == 1)
        // An earlier release put them into its backups.
        let sealed = try vault.snapshot().tokens.tokens
        #expect(sealed.count == 4)
        for rule in [ConflictRule.keep, .replace] {
            let outcomes = try vault.tokens.restore(sealed, rule, isTrial: false)
            #expect(outcomes.filter { $0 == .impossible(.reserved) }.count == 3, "\(outcomes)")
            #expect(outcomes.filter { $0 == .equal }.count == 1, "\(outcomes)")
        }
    }

    @Test("Backups from before and after a replacement of databases' keys bring the databases back")
    func newDatabaseKeys() async throws {
        let vault = try await scene.create()
        for protection in [ProtectionClass.whenUnlocked, .whenUnlockedThisDeviceOnly] {
            _ = try await scene.fill(vault, protection)
        }
        let before = scene.scratch.path.appending("before.age")
        _ = try await vault.createBackup(at: before, for: scene.key)
        #expect(try await vault.rotateDatabaseKeys().replaced.count == 2)
        _ = try await scene.backUp(vault)
        for path in [before, scene.path] {
            try await expectBothDatabases(of: path, in: vault)
        }
    }

    @Test("A database whose key was replaced since the backup, and whose file is lost, is told and not kept")
    func lostDatabaseFile() async throws {
        let vault = try await scene.create()
        let protection = ProtectionClass.whenUnlockedThisDeviceOnly
        _ = try await scene.fill(vault, protection)
        _ = try await vault.createBackup(at: scene.path, for: scene.key)
        #expect(try await vault.rotateDatabaseKeys().replaced.count == 1)
        let file = vault.vaultDirectory.appending("soups").appending("database-db-\(protection.name).db")
        try FileManager.default.removeItem(atPath: file.string)
        let opening = scene.opening
        let refused = await BackupScene.code {
            _ = try await vault.restoreBackup(from: scene.path, with: opening)
        }
        #expect(refused == .corrupt)
        try await VaultDatabases(vault).remove("db-\(protection.name)")
        #expect(try await vault.restoreBackup(from: scene.path, with: opening).impossible == 0)
        #expect(try await BackupScene.rows(vault, "db-\(protection.name)") == 500)
    }

    /// Removes the databases of a vault and restores both from a backup.
    private func expectBothDatabases(of path: FilePath, in vault: Vault) async throws {
        let databases = VaultDatabases(vault)
        for name in try await databases.names() { try await databases.remove(name) }
        let report = try await vault.restoreBackup(from: path, with: scene.opening)
        #expect(report.added == 2, "\(report)")
        for name in ["db-whenUnlocked", "db-whenUnlockedThisDeviceOnly"] {
            #expect(try await BackupScene.rows(vault, name) == 500)
        }
    }

    private final class Rotations: Sendable {
        let count = Mutex(0)
    }

    @Test("Backups made while databases' keys are replaced have each database with the key that opens it")
    func besideNewDatabaseKeys() async throws {
        let vault = try await scene.create()
        for protection in [ProtectionClass.whenUnlocked, .whenUnlockedThisDeviceOnly] {
            _ = try await scene.fill(vault, protection)
        }
        let paths = (0..<4).map { scene.scratch.path.appending("\($0).age") }
        let key = scene.key
        let rotations = Rotations()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<12 {
                    _ = try await vault.rotateDatabaseKeys()
                    rotations.count.withLock { $0 += 1 }
                }
            }
            for path in paths {
                while true {
                    let isAlone = rotations.count.withLock { $0 == 12 }
                    do throws(CofferError) {
                        let report = try await vault.createBackup(at: path, for: key)
                        #expect(report.omitted.isEmpty, "\(report)")
                        break
                    } catch {
                        // Keys that are replaced all the time may end a backup, but leave nothing out of it.
                        try #require(!isAlone && [.conflict, .busy].contains(error.code), "\(error)")
                    }
                }
            }
            try await group.waitForAll()
        }
        for path in paths {
            try await expectBothDatabases(of: path, in: vault)
        }
    }

    @Test("An item that differs stays, is replaced, or gets a second name, as the rule says")
    func conflicts() async throws {
        let vault = try await scene.create()
        let id = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.backUp(vault)
        let name = try TokenID(service: "s", account: "whenUnlocked", kind: .other)
        try await vault.tokens.put(Token(copying: "newer"), for: name)
        try await vault.files.rename(id, to: BackupScene.component("renamed"))
        let databases = VaultDatabases(vault)
        let queue = try await databases.queue("db-whenUnlocked")
        try await queue.write { try $0.execute(sql: "DELETE FROM t WHERE id > 10") }
        await databases.close()
        let kept = try await scene.restore(vault)
        #expect(kept.kept == 3 && kept.total == 3, "\(kept)")
        #expect(try await vault.tokens.get(name)?.token.copyBytes() == Array("newer".utf8))
        let both = try await scene.restore(vault, .both)
        #expect(both.added == 3, "\(both)")
        #expect(try await vault.tokens.get(name)?.token.copyBytes() == Array("newer".utf8))
        #expect(
            try await accounts(vault) == ["whenUnlocked", "whenUnlocked (restored)"])
        #expect(try await vault.files.count() == 2)
        #expect(try await BackupScene.rows(vault, "db-whenUnlocked-restored") == 500)
        #expect(try await BackupScene.rows(vault, "db-whenUnlocked") == 10)
        let replaced = try await scene.restore(vault, .replace)
        #expect(replaced.replaced == 3, "\(replaced)")
        #expect(try await BackupScene.rows(vault, "db-whenUnlocked") == 500)
        #expect(try await vault.files.info(for: id).name.string == "whenUnlocked.bin")
        let equal = try await scene.restore(vault)
        #expect(equal.equal == 3, "\(equal)")
    }

    /// Every byte of the header, of the end, and every eleventh between them; all of them take minutes.
    private static func places(in count: Int) -> [Int] {
        (0..<count).filter { $0 < 300 || $0 > count - 40 || $0 % 11 == 5 }
    }

    @Test("A backup cut or changed at any place, or extended, is never found complete")
    func damage() async throws {
        let vault = try await scene.create(passcode: nil)
        try await vault.tokens.put(
            Token(copying: "v"), for: TokenID(service: "s", account: "a"), class: .whenUnlocked)
        _ = try await scene.backUp(vault)
        let good = try scene.bytes()
        _ = try await VaultBackup.contents(at: scene.path, with: scene.opening)
        var spoilt = Self.places(in: good.count).map { ("cut to \($0) bytes", Array(good[..<$0])) }
        for index in Self.places(in: good.count) {
            var bad = good
            bad[index] ^= 0x10
            spoilt.append(("byte \(index)", bad))
        }
        spoilt.append(("extended", good + [0]))
        let (scene, all) = (scene, spoilt)
        // Other tests occupy the threads of tasks for long: thousands of calls would each wait for them.
        let accepted = try await BlockingExecutor.run { cancellation in
            let other = scene.scratch.path.appending("damaged")
            return all.filter { _, bytes in
                do {
                    try scene.write(bytes, to: other)
                    _ = try BackupContents.inspect(VaultBackup.open(other), scene.opening, cancellation)
                } catch {
                    return !(error is CofferError)
                }
                return true
            }.map(\.0)
        }
        #expect(accepted.isEmpty)
        try scene.write(good + [0], to: scene.path)
        await #expect(throws: CofferError.self) {
            try await VaultBackup.contents(at: scene.path, with: scene.opening)
        }
    }

    @Test("Wrong keys are told apart and change nothing; a short passphrase is refused")
    func keys() async throws {
        let vault = try await scene.create(passcode: nil)
        let passphrase = { (text: String) throws in BackupPassphrase(try SecretBytes.copying(text)) }
        #expect(
            await BackupScene.code {
                _ = try await vault.createBackup(at: scene.path, for: .passphrase(passphrase("too short")))
            } == .refused)
        #expect(try scene.scratch.names() == ["home"])
        _ = try await vault.createBackup(
            at: scene.path, for: .passphrase(passphrase("long enough, it is")), workFactor: 4)
        #expect(
            await BackupScene.code {
                _ = try await vault.restoreBackup(
                    from: scene.path, with: .passphrase(passphrase("another one")))
            } == .wrongPasscode)
        #expect(
            await BackupScene.code { _ = try await scene.restore(vault) } == .absent)
        let report = try await vault.restoreBackup(
            from: scene.path, with: .passphrase(passphrase("long enough, it is")))
        #expect(report.total == 0)
        let second = scene.scratch.path.appending("second")
        _ = try await vault.createBackup(at: second, for: scene.key)
        let stranger = try AgeIdentity.generate()
        #expect(
            await BackupScene.code {
                _ = try await VaultBackup.contents(at: second, with: .identities([stranger]))
            } == .absent)
    }

    @Test("An existing file is kept; with a number, so many backups are, the newest under the name itself")
    func keeping() async throws {
        let vault = try await scene.create(passcode: nil)
        _ = try await scene.backUp(vault)
        #expect(
            await BackupScene.code { _ = try await scene.backUp(vault) } == .alreadyExists)
        var written: [[UInt8]] = [try scene.bytes()]
        for _ in 0..<4 {
            _ = try await vault.createBackup(at: scene.path, for: scene.key, keeping: 3)
            written.append(try scene.bytes())
        }
        #expect(try scene.scratch.names() == ["home", "vault.age", "vault.age.1", "vault.age.2"])
        for (name, index) in [("vault.age", 4), ("vault.age.1", 3), ("vault.age.2", 2)] {
            #expect(try scene.bytes(scene.scratch.path.appending(name)) == written[index])
        }
        _ = try await vault.createBackup(at: scene.path, for: scene.key, keeping: 1)
        #expect(try scene.scratch.names() == ["home", "vault.age"])
        #expect(try await vault.status().lastBackup != nil)
    }

    @Test("age and tar bring everything movable back without Coffer")
    func withoutCoffer() async throws {
        let vault = try await scene.create()
        let id = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.backUp(vault)
        let keyFile = scene.scratch.path(of: "key")
        let text = try scene.identity.text().exposing { $0.copied() }
        try scene.write(text + [10], to: FilePath(keyFile))
        for (index, tar) in ["tar x -C", "bsdtar -x -C"].enumerated() {
            let folder = scene.scratch.path(of: "out\(index)")
            let run = try CommandRun.run(
                "/bin/sh",
                [
                    "-c", "mkdir \"$2\" && age -d -i \"$1\" \"$3\" | \(tar) \"$2\" -f -", "sh", keyFile,
                    folder, scene.path.string,
                ])
            #expect(run.code == 0 && run.errors.isEmpty, "\(run.errorText)")
            let content = try scene.bytes(FilePath("\(folder)/files/\(id)/content"))
            #expect(content == BackupScene.content(.whenUnlocked))
            let query = try CommandRun.run(
                "sqlite3",
                [
                    "\(folder)/databases/database-db-whenUnlocked.sqlite",
                    "PRAGMA integrity_check; SELECT count(*) FROM t",
                ])
            #expect(query.text == "ok\n500\n", "\(query.errorText)")
        }
        let script = """
            import base64, io, json, subprocess, sys, tarfile
            age = ["age", "-d", "-i", sys.argv[1], sys.argv[2]]
            archive = tarfile.open(fileobj=io.BytesIO(subprocess.run(age, capture_output=True).stdout))
            names = archive.getnames()
            print(names[0], names[-1], all(member.isfile() for member in archive))
            token = json.load(archive.extractfile("tokens/0000001.json"))
            print(base64.b64decode(token["value"]).hex())
            """
        let python = try CommandRun.run("python3", ["-c", script, keyFile, scene.path.string])
        let value = HexText.encode([0, 10, 255] + Array("value whenUnlocked".utf8))
        #expect(python.text == "manifest.json complete.json True\n\(value)\n", "\(python.errorText)")
    }
}
