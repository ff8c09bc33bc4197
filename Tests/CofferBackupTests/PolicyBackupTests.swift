import Coffer
import CofferBackup
import CofferBase
import CofferCrypto
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Backups and the administrator's policy", .timeLimit(.minutes(10)))
struct PolicyBackupTests {
    private let scene: BackupScene

    init() throws { scene = try BackupScene() }

    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        await BackupScene.code(body)
    }

    /// Sets a policy, and lets a vault obey it.
    private func obey(_ policy: String, _ vaults: Vault...) async throws {
        try scene.setPolicy(policy)
        for vault in vaults {
            vault.lock()
            try await vault.unlock(with: Passcode(copying: "2468"))
        }
    }

    private func passphrase() throws -> BackupPassphrase {
        BackupPassphrase(try SecretBytes.copying("a long passphrase"))
    }

    @Test("AllowExport: no key makes a backup, and an earlier backup stays as it is")
    func export() async throws {
        let vault = try await scene.create()
        _ = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.backUp(vault)
        let (before, status) = (try scene.bytes(), try await vault.status())
        try await obey(#"{"AllowExport": false}"#, vault)
        for key in [scene.key, .passphrase(try passphrase())] {
            #expect(
                await code { try await vault.createBackup(at: scene.path, for: key, keeping: 2) } == .refused)
            let other = scene.scratch.path.appending("other.age")
            #expect(await code { try await vault.createBackup(at: other, for: key) } == .refused)
        }
        #expect(try scene.bytes() == before)
        #expect(try await vault.status().lastBackup == status.lastBackup)
        #expect(try scene.scratch.names().filter { $0.contains(".age") } == ["vault.age"])
        try await obey("{}", vault)
        try await vault.createBackup(at: scene.path, for: scene.key, keeping: 2)
    }

    @Test("AllowImport: nothing is restored, not even for a trial")
    func restore() async throws {
        let vault = try await scene.create()
        _ = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.backUp(vault)
        let other = try await scene.create("other")
        try await obey(#"{"AllowImport": false}"#, other)
        for isTrial in [true, false] {
            #expect(await code { _ = try await scene.restore(other, .replace, isTrial: isTrial) } == .refused)
        }
        #expect(try await other.tokens.count() == 0)
        #expect(try await other.files.list().isEmpty)
        // Looking into a backup is none of a vault's business.
        #expect(try await VaultBackup.contents(at: scene.path, with: scene.opening).counts.movable == 3)
        try await obey("{}", other)
        #expect(try await scene.restore(other).added == 3)
    }

    @Test("BackupRecipients: every backup is for these, too, and none has a passphrase")
    func recipients() async throws {
        let vault = try await scene.create()
        _ = try await scene.fill(vault, .whenUnlocked)
        let required = try [AgeIdentity.generate(), AgeIdentity.generate()]
        let list = required.map { "\"\($0.recipient)\"" }.joined(separator: ", ")
        try await obey("{\"BackupRecipients\": [\(list)]}", vault)
        #expect(
            await code {
                try await vault.createBackup(at: scene.path, for: .passphrase(passphrase()))
            } == .refused)
        #expect(!FileManager.default.fileExists(atPath: scene.path.string))
        _ = try await scene.backUp(vault)
        for identity in required + [scene.identity] {
            let contents = try await VaultBackup.contents(at: scene.path, with: .identities([identity]))
            #expect(contents.counts.movable == 3)
        }
        let stranger = try AgeIdentity.generate()
        #expect(
            await code { _ = try await VaultBackup.contents(at: scene.path, with: .identities([stranger])) }
                == .absent)
        // Recipients that are required anyway, or none, are no obstacle.
        for given in [[required[0].recipient], []] {
            try await vault.createBackup(at: scene.path, for: .recipients(given), keeping: 1)
            #expect(
                await code {
                    _ = try await VaultBackup.contents(at: scene.path, with: scene.opening)
                } == .absent)
            for identity in required {
                _ = try await VaultBackup.contents(at: scene.path, with: .identities([identity]))
            }
        }
    }

    @Test("RequireBackup: a vault without a backup opens, so that it can be backed up, and is told of")
    func required() async throws {
        try scene.setPolicy(#"{"RequireBackup": true}"#)
        let vault = try await scene.create()
        try await obey(#"{"RequireBackup": true}"#, vault)
        func check() async throws -> SecurityCheck? {
            try await vault.securityChecks().first { $0.name == "backup" }
        }
        let missing = try await check()
        #expect(missing?.status == .missing && missing?.message.contains("RequireBackup") == true)
        #expect(try vault.managedPolicy().flag(.requireBackup) == true)
        #expect(PolicyKey.requireBackup.grade == .offered)
        _ = try await scene.backUp(vault)
        #expect(try await check()?.status == .ok)
    }

    @Test("TokenLifetimeSeconds: what is restored expires in time, and is found equal again")
    func lifetime() async throws {
        let vault = try await scene.create()
        for protection in [ProtectionClass.whenUnlocked, .whenUnlockedThisDeviceOnly] {
            _ = try await scene.fill(vault, protection)
        }
        _ = try await scene.backUp(vault)
        for info in try await vault.tokens.list() where info.id.service == "s" {
            try await vault.tokens.remove(info.id)
        }
        try await obey(#"{"TokenLifetimeSeconds": 900}"#, vault)
        let report = try await scene.restore(vault)
        #expect(report.added == 2, "\(report)")
        let restored = try await vault.tokens.list().filter { $0.id.service == "s" }
        #expect(restored.count == 2)
        for info in restored {
            let expires = try #require(info.expires)
            #expect(expires <= Date(timeIntervalSinceNow: 900) && expires > Date())
            #expect(try await vault.tokens.get(info.id)?.token.copyBytes().isEmpty == false)
        }
        let again = try await scene.restore(vault, .replace)
        #expect(again.added == 0 && again.replaced == 0 && again.equal >= 4, "\(again)")
        // The keys of databases, which are the library's own, do not expire.
        #expect(try await BackupScene.rows(vault, "db-whenUnlocked") == 500)
        #expect(try await BackupScene.rows(vault, "db-whenUnlockedThisDeviceOnly") == 500)
    }

    @Test("A policy that cannot be understood stops backup and restoration")
    func invalid() async throws {
        let vault = try await scene.create()
        _ = try await scene.fill(vault, .whenUnlocked)
        _ = try await scene.backUp(vault)
        try scene.setPolicy("{")
        let opened = try await Vault(at: scene.location())
        #expect(await code { _ = try await scene.restore(opened) } == .policyInvalid)
        let other = scene.scratch.path.appending("other.age")
        #expect(await code { try await opened.createBackup(at: other, for: scene.key) } == .policyInvalid)
        #expect(!FileManager.default.fileExists(atPath: other.string))
    }
}
