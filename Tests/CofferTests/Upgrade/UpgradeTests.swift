@testable import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

/// A home of an earlier release opens as it is, and becomes one of this release only on request.
@Suite("Upgrading a vault")
struct UpgradeTests {
    private static let day: Int64 = 86_400_000_000_000
    /// The files that count and are no format.
    private static let counters: Set<String> = ["vault/attempts", "lock"]

    private func secret() throws -> Passcode { try Passcode(copying: TwoClassHome.passcode) }

    private func id(_ account: String) throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func formats(_ home: TestHome) throws -> [String: [UInt8]] {
        try home.everything().filter { !Self.counters.contains($0.key) }
    }

    private func expectTokens(_ vault: Vault) async throws {
        #expect(try await vault.tokens.get(id("ada"))?.string == "kept from before")
        #expect(try await vault.tokens.get(id("after"))?.string == "outlasts")
    }

    @Test("Opening, unlocking, reading and locking change no file but the counter")
    func opening() async throws {
        let home = try TwoClassHome.make()
        let before = try formats(home)
        for _ in 0..<2 {
            let vault = try await home.unlocked(TwoClassHome.passcode)
            try await expectTokens(vault)
            #expect(try await vault.files.list().isEmpty)
            let status = try await vault.status()
            #expect(status.availableUpgrades == [.keybag, .fileIndex])
            let check = try await vault.securityChecks().first { $0.name == "format" }
            #expect(check?.status == .advisory && check?.remedy == .upgradeVault)
            vault.lock()
            vault.close()
        }
        #expect(try formats(home) == before)
    }

    @Test("What the home has keys for works; what it lacks says that it needs an upgrade")
    func usable() async throws {
        let home = try TwoClassHome.make()
        let vault = try await home.unlocked(TwoClassHome.passcode)
        try await vault.tokens.put(Token(copying: "new"), for: id("new"))
        let file = try await vault.files.add([1, 2, 3], name: "f")
        for protection in [ProtectionClass.whenUnlocked, .afterFirstUnlock, .whenPasscodeSetThisDeviceOnly] {
            let error = await refusal {
                try await vault.tokens.put(Token(copying: "x"), for: id("x"), class: protection)
            }
            // The class that requires a passcode says so, as without one.
            guard !protection.requiresPasscode else {
                #expect(error != nil)
                continue
            }
            #expect(error?.code == .unsupported && error?.remedy == .upgradeVault, "\(protection.name)")
        }
        let rotation = await refusal { _ = try await vault.rotateKeys(passcode: secret()) }
        #expect(rotation?.code == .unsupported && rotation?.remedy == .upgradeVault)
        let recovery = await refusal {
            _ = try await vault.createRecoveryKey(passcode: secret())
        }
        #expect(recovery?.code == .unsupported && recovery?.remedy == .upgradeVault)
        let attempts = try home.attempts()
        let caching = await refusal { try await vault.unlock(with: secret(), cachingFor: nil) }
        #expect(caching?.code == .unsupported && caching?.remedy == .upgradeVault)
        #expect(try home.attempts() == attempts)
        let again = try await home.unlocked(TwoClassHome.passcode)
        try await expectTokens(again)
        #expect(try await again.tokens.get(id("new"))?.string == "new")
        #expect(try await again.files.withDecryptedBytes(of: file) { $0.copied() } == [1, 2, 3])
        #expect(try home.keybag().keys.count == 2)
    }

    @Test("After the upgrade, the keybag and the files are of this release, and nothing is left to do")
    func upgraded() async throws {
        let home = try TwoClassHome.make()
        let vault = try await home.open()
        #expect(try await vault.availableUpgrades() == [.keybag, .fileIndex])
        #expect(try await vault.upgrade(passcode: secret(), requiringBackup: false) == [.keybag, .fileIndex])
        #expect(try await vault.availableUpgrades().isEmpty)
        #expect(try await vault.upgrade(passcode: nil, requiringBackup: true).isEmpty)
        #expect(try home.keybag().isComplete && home.attempts().failures == 0)
        let other = try await home.unlocked(TwoClassHome.passcode)
        for opened in [vault, other] {
            try await expectTokens(opened)
            for protection in ProtectionClass.allCases {
                try await opened.tokens.put(
                    Token(copying: "x"), for: id(protection.name), class: protection)
                _ = try await opened.files.add([4], name: "g", class: protection)
            }
        }
        #expect(try await other.files.list().count == 2 * ProtectionClass.allCases.count)
        #expect(try await vault.rotateKeys(passcode: secret()).isComplete)
        #expect(await refusal(of: "wrong", by: other)?.code == .wrongPasscode)
        #expect(try home.directory().state()?.release == ReleaseNumber.current)
        #expect(!FileManager.default.fileExists(atPath: home.homePath("vault.next").string))
    }

    @Test("The index lists the files that were there, and a later loss is noticed")
    func files() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let files = [try await vault.files.add([1], name: "a"), try await vault.files.add([2], name: "b")]
        try vault.core.home.withExclusiveVault { (opened) throws(CofferError) in
            let record = FileKeysetRecord(device: vault.core.device)
            var contents = try record.read(in: opened)
            (contents.keys.hasIndex, contents.keys.hasIndexCommits) = (false, false)
            try record.write(contents, in: opened)
            try opened.remove(FileIndex.fileName)
        }
        #expect(try await vault.upgrade(requiringBackup: false) == [.fileIndex])
        #expect(try await vault.files.list().map(\.id).sorted() == files.sorted())
        try home.remove("files/\(files[0]).coffer")
        #expect(try await vault.status().missingFiles == [files[0]])
    }

    @Test("A damaged index and an unreadable container stop the upgrade, which changes nothing")
    func damagedIndex() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let file = try await vault.files.add([1], name: "a")
        try vault.core.home.withExclusiveVault { (opened) throws(CofferError) in
            let record = FileKeysetRecord(device: vault.core.device)
            var contents = try record.read(in: opened)
            (contents.keys.hasIndex, contents.keys.hasIndexCommits) = (false, false)
            try record.write(contents, in: opened)
        }
        let path = "files/\(file).coffer"
        let whole = try home.read(path)
        try home.write(path, whole.map { ~$0 })
        let before = try formats(home)
        let error = await refusal { _ = try await vault.upgrade(requiringBackup: false) }
        #expect(error?.code == .corrupt && error?.entries == [file.description])
        #expect(try formats(home) == before)
        try home.write(path, whole)
        #expect(try await vault.upgrade(requiringBackup: false) == [.fileIndex])
    }

    @Test("Key pairs without their mark get it from an upgrade, not from an unlock")
    func keyPairs() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        _ = try await vault.keyPairs.generate(.ed25519, alias: "k")
        try home.changeKeybag { $0.features = [] }
        let other = try await home.unlocked()
        #expect(try home.keybag().features.isEmpty)
        #expect(try await other.upgrade(requiringBackup: false) == [.keyPairs])
        #expect(try home.keybag().features == .keyPairs)
        #expect(try await other.keyPairs.list().count == 1)
    }

    @Test("Without a backup from the last day, nothing is upgraded and no passcode is counted")
    func backup() async throws {
        let home = try TwoClassHome.make()
        let clock = TestClock()
        let vault = try await home.open(clock: clock.source)
        let before = try home.everything()
        let now = clock.source.wallClock().nanoseconds
        #expect(await refusal { _ = try await vault.upgrade(passcode: secret()) }?.remedy == .createBackup)
        #expect(try home.everything() == before)
        for time in [now - Self.day - 1, now + 1] {
            try vault.noteBackup(at: time, movable: 0)
            let error = await refusal { _ = try await vault.upgrade(passcode: secret()) }
            #expect(error?.code == .refused && error?.remedy == .createBackup)
        }
        try vault.noteBackup(at: now - Self.day + 1, movable: 0)
        #expect(try await vault.upgrade(passcode: secret()) == [.keybag, .fileIndex])
    }

    @Test("A wrong passcode counts and upgrades nothing")
    func wrongPasscode() async throws {
        let home = try TwoClassHome.make()
        let vault = try await home.open()
        let before = try formats(home)
        let wrong = try Passcode(copying: "battery staple")
        let error = await refusal { _ = try await vault.upgrade(passcode: wrong, requiringBackup: false) }
        #expect(error?.code == .wrongPasscode && error?.attemptsLeft == 9)
        #expect(try formats(home) == before)
    }

    @Test("A wipe during a switch leaves neither the old keys nor the new ones", arguments: [false, true])
    func wiped(_ isSwitched: Bool) async throws {
        // Not the home whose vault other tests have open, too.
        let home = try TestHome()
        let vault = try await home.create()
        try home.stageNext(["keybag": home.read("keybag")], isSwitched: isSwitched)
        _ = try await vault.wipe(reason: "test")
        let left = try home.everything().keys
        #expect(!left.contains { $0.contains("keybag") }, "\(left)")
    }

    @Test("A wipe overwrites the keys that a killed upgrade had replaced", arguments: ["next", "discarded"])
    func wipedFormer(_ kind: String) async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let folder = home.homePath("vault." + kind)
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
        let former = folder.pushing(".former-keybag")
        try Data(home.read("keybag")).write(to: URL(filePath: former.string))
        let file = try Descriptor.open(former, .read)
        _ = try await vault.wipe(reason: "test")
        let bytes = try file.readAll(limit: 1 << 20)
        #expect(!bytes.isEmpty && bytes.allSatisfy { $0 == 0 })
        #expect(!FileManager.default.fileExists(atPath: folder.string))
    }
}
