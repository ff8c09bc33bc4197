@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Rotating keys")
struct KeyRotationTests {
    private static let passcode = "correct horse"
    private static let next = "battery staple"

    private func id(_ account: String) throws -> TokenID { try TokenID(service: "s", account: account) }

    private func secret(_ text: String = Self.passcode) throws -> Passcode { try Passcode(copying: text) }

    private func read(_ vault: Vault, _ id: FileID, context: [UInt8] = []) async throws -> [UInt8] {
        try await vault.files.withDecryptedBytes(of: id, context: context) { $0.copied() }
    }

    /// A vault with an item of each kind in several classes.
    private func filled(_ home: TestHome) async throws -> (vault: Vault, files: [FileID], bound: FileID) {
        let vault = try await home.create(Self.passcode)
        var files: [FileID] = []
        for protection in ProtectionClass.allCases {
            try await vault.tokens.put(
                Token(copying: protection.name), for: id(protection.name), class: protection)
            files.append(
                try await vault.files.add([UInt8(protection.rawValue)], name: "f", class: protection))
        }
        let bound = try await vault.files.add([9], name: "bound", context: [7])
        return (vault, files, bound)
    }

    private func expectAll(_ vault: Vault, _ files: [FileID], _ bound: FileID) async throws {
        for (protection, file) in zip(ProtectionClass.allCases, files) {
            #expect(try await vault.tokens.get(id(protection.name))?.string == protection.name)
            #expect(try await read(vault, file) == [UInt8(protection.rawValue)])
            #expect(try await vault.files.info(for: file).protection == protection)
        }
        #expect(try await read(vault, bound, context: [7]) == [9])
        #expect(try await vault.files.list().count == files.count + 1)
    }

    @Test("Everything opens with the new keys, the versions and classes stay, and no old key is left")
    func rotated() async throws {
        let home = try TestHome()
        let (vault, files, bound) = try await filled(home)
        let before = try home.keybag()
        let versions = try await vault.tokens.list()
        let report = try await vault.rotateKeys(passcode: secret())
        #expect(report.isComplete && report.classes == ProtectionClass.allCases)
        #expect(report.tokens == 5 && report.files == 6 && report.unreadableFiles.isEmpty)
        #expect(report.databases.isEmpty)
        let after = try home.keybag()
        #expect(!after.isRotating)
        for protection in ProtectionClass.allCases {
            #expect(after.keys[protection]?.id != before.keys[protection]?.id)
            #expect(after.keys[protection]?.generation == 2)
            #expect(after.publicKeys[protection] != before.publicKeys[protection])
            let old = try #require(before.keys[protection]?.id)
            #expect(try home.occurrences(of: old) == 0)
        }
        try await expectAll(vault, files, bound)
        let other = try await home.unlocked(Self.passcode)
        try await expectAll(other, files, bound)
        #expect(try await other.tokens.list() == versions)
        let again = try await other.rotateKeys(of: [.whenUnlocked], passcode: secret())
        #expect(again.isComplete && again.tokens == 1 && again.classes == [.whenUnlocked])
        #expect(try home.keybag().keys[.whenUnlocked]?.generation == 3)
        #expect(try home.keybag().keys[.afterFirstUnlock]?.generation == 2)
        try await expectAll(other, files, bound)
        #expect(try await other.resumeKeyRotation() == nil)
    }

    @Test("An old keybag with the old passcode opens nothing that is written later")
    func oldKeybag() async throws {
        let home = try TestHome()
        let (vault, files, bound) = try await filled(home)
        let old = try home.read("keybag")
        let attempts = try home.read("attempts")
        _ = try await vault.rotateKeys(passcode: secret(), newPasscode: secret(Self.next))
        #expect(await refusal { _ = try await home.unlocked(Self.passcode) }?.code == .wrongPasscode)
        try await vault.tokens.put(Token(copying: "later"), for: id("later"))
        try await vault.tokens.put(Token(copying: "changed"), for: id("whenUnlocked"))
        let file = try await vault.files.add(Array("later".utf8), name: "later")
        let stranger = try await home.open()
        try await stranger.tokens.put(Token(copying: "stored while locked"), for: id("waiting"))
        let new = try home.read("keybag")
        try home.write("keybag", old)
        try home.write("attempts", attempts)
        // The old keys open, and then nothing else does.
        let thief = try await home.unlocked(Self.passcode)
        for name in ["later", "whenUnlocked", "afterFirstUnlock"] {
            let error = await refusal { _ = try await thief.tokens.get(id(name)) }
            // The token is good, so nothing says that it should be removed.
            #expect(error?.code == .corrupt && error?.remedy == .restoreVault, "\(name)")
        }
        for file in files + [file] {
            #expect(await refusal { _ = try await read(thief, file) }?.code == .corrupt)
        }
        #expect(await refusal { _ = try await thief.files.list() }?.code == .corrupt)
        try home.write("keybag", new)
        let owner = try await home.unlocked(Self.next)
        // The old keybag's keys did not open what was pending, and it is not lost by that.
        #expect(try await owner.tokens.get(id("waiting"))?.string == "stored while locked")
        #expect(try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 0))
        #expect(try await owner.tokens.get(id("later"))?.string == "later")
        #expect(try await read(owner, file) == Array("later".utf8))
        #expect(try await read(owner, bound, context: [7]) == [9])
    }

    @Test("Tokens that wait are stored or sealed to the new keys, and stay acceptable")
    func pending() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.tokens.put(Token(copying: "stored"), for: id("a"))
        let stranger = try await home.open()
        try await stranger.tokens.put(Token(copying: "claim"), for: id("a"))
        try await stranger.tokens.put(Token(copying: "new"), for: id("b"))
        let report = try await vault.rotateKeys(passcode: secret())
        #expect(report.isComplete && report.pendingTokens == 1)
        #expect(try await vault.tokens.get(id("b"))?.string == "new")
        #expect(try await vault.tokens.pending().map(\.info.id) == [id("a")])
        #expect(try await vault.tokens.accept(id("a")) == 2)
        #expect(try await home.unlocked(Self.passcode).tokens.get(id("a"))?.string == "claim")
    }

    @Test("A process unlocked before loses its keys, and nothing that it then stores")
    func secondProcess() async throws {
        let home = try TestHome()
        let (vault, files, _) = try await filled(home)
        let other = try await home.unlocked(Self.passcode)
        #expect(try await other.tokens.get(id("whenUnlocked"))?.string == "whenUnlocked")
        let events = EventLog(other)
        _ = try await vault.rotateKeys(passcode: secret())
        #expect(try await other.tokens.put(Token(copying: "queued"), for: id("whenUnlocked")) == .queued)
        #expect(!other.isUnlocked)
        #expect(await events.next() == VaultEvent(.locked, .keysReplaced))
        #expect(await refusal { _ = try await other.tokens.get(id("afterFirstUnlock")) }?.code == .locked)
        #expect(await refusal { _ = try await read(other, files[0]) }?.code == .locked)
        #expect(await refusal { _ = try await other.files.add([1], name: "x") }?.code == .locked)
        #expect(await refusal { _ = try await other.files.rotateKeys() }?.code == .locked)
        try await other.unlock(with: secret())
        #expect(try await other.tokens.pending().isEmpty)
        #expect(try await other.tokens.get(id("whenUnlocked"))?.string == "queued")
        #expect(try await vault.tokens.get(id("whenUnlocked"))?.string == "queued")
    }

    @Test(
        "Where the keys are cached in the kernel, another process takes the new ones and stays unlocked",
        .enabled(if: KernelKeyring.isAvailable))
    func cached() async throws {
        let home = try TestHome()
        let (vault, files, bound) = try await filled(home)
        defer { vault.close() }
        try await vault.cacheKeysInKernel()
        let other = try await home.open()
        #expect(try await other.restoreCachedKeys())
        try await other.tokens.put(Token(copying: "in memory"), for: id("session"), isEphemeral: true)
        _ = try await vault.rotateKeys(passcode: secret())
        let put = try await other.tokens.put(Token(copying: "x"), for: id("x"), class: .whenUnlocked)
        #expect(put == .stored(version: 1) && other.isUnlocked)
        #expect(try await other.tokens.get(id("session"))?.string == "in memory")
        let file = try await other.files.add([1], name: "x")
        #expect(try await read(other, file) == [1])
        #expect(try await vault.tokens.get(id("x"))?.string == "x")
        let later = try await home.open()
        #expect(try await later.restoreCachedKeys())
        try await expectAllTokens(later)
        for file in files { _ = try await read(later, file) }
        #expect(try await read(later, bound, context: [7]) == [9])
    }

    private func expectAllTokens(_ vault: Vault) async throws {
        for protection in ProtectionClass.allCases {
            #expect(try await vault.tokens.get(id(protection.name))?.string == protection.name)
        }
    }

    @Test("Ephemeral tokens of the rotating process stay")
    func ephemeral() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.tokens.put(Token(copying: "v"), for: id("a"), isEphemeral: true)
        let file = try await vault.files.add([5], name: "session", isVolatile: true)
        #expect(try await vault.rotateKeys(passcode: secret()).isComplete)
        #expect(try await vault.tokens.get(id("a"))?.string == "v")
        #expect(try await read(vault, file) == [5])
    }

    @Test("An unreadable item keeps the old keys until it is gone")
    func unreadable() async throws {
        let home = try TestHome()
        let (vault, files, bound) = try await filled(home)
        let name = "files/\(files[1]).coffer"
        let whole = try home.read(name)
        var damaged = whole
        damaged[500] ^= 1
        damaged[2548] ^= 1
        try home.write(name, damaged)
        let report = try await vault.rotateKeys(passcode: secret())
        #expect(!report.isComplete && report.unreadableFiles == [files[1]])
        #expect(try home.keybag().isRotating)
        #expect(try await vault.status().isRotatingKeys)
        // Both generations serve.
        let other = try await home.unlocked(Self.passcode)
        #expect(try await other.tokens.get(id("whenUnlocked"))?.string == "whenUnlocked")
        // The passcode may change meanwhile, and the damage be repaired.
        try await other.changePasscode(to: secret(Self.next), current: secret())
        #expect(try home.keybag().isRotating)
        try home.write(name, whole)
        let last = try await home.unlocked(Self.next)
        #expect(try !home.keybag().isRotating)
        try await expectAll(last, files, bound)
    }

    @Test("The recovery key opens the new keys, also while a rotation is unfinished")
    func recoveryKey() async throws {
        let home = try TestHome()
        let (vault, files, _) = try await filled(home)
        let key = try await vault.createRecoveryKey(passcode: secret())
        #expect(try await vault.rotateKeys(passcode: secret()).isComplete)
        try await vault.checkRecoveryKey(key)
        let name = "files/\(files[1]).coffer"
        let whole = try home.read(name)
        var damaged = whole
        damaged[500] ^= 1
        damaged[2548] ^= 1
        try home.write(name, damaged)
        #expect(try await !vault.rotateKeys(passcode: secret()).isComplete)
        vault.close()
        let recovery = try await VaultRecovery(of: home.location, with: key)
        let (recovered, _) = try await recovery.finish(
            newPasscode: secret(Self.next), newRecoveryKey: .generate())
        #expect(try home.keybag().isRotating)
        try home.write(name, whole)
        // The file's key is still wrapped under the replaced class key.
        #expect(try await read(recovered, files[1]) == [UInt8(ProtectionClass.allCases[1].rawValue)])
        recovered.close()
        _ = try await home.unlocked(Self.next)
        #expect(try !home.keybag().isRotating)
    }

    @Test("Without a passcode, the device key alone wraps the new keys")
    func withoutPasscode() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        try await vault.tokens.put(Token(copying: "v"), for: id("a"))
        #expect(await refusal { _ = try await vault.rotateKeys(newPasscode: secret()) }?.code == .refused)
        let report = try await vault.rotateKeys()
        #expect(report.isComplete && report.classes.count == 4 && report.tokens == 1)
        #expect(try await home.unlocked().tokens.get(id("a"))?.string == "v")
    }

    @Test("A wrong passcode, none, and a passcode against the policy change nothing")
    func refused() async throws {
        let home = try TestHome()
        let vault = try await home.create(
            "correct1", options: TestHome.options { $0.policy = .alphanumeric })
        let before = try home.keybag().encoded
        #expect(await refusal { _ = try await vault.rotateKeys() }?.code == .locked)
        let wrong = await refusal { _ = try await vault.rotateKeys(passcode: secret("no")) }
        #expect(wrong?.code == .wrongPasscode)
        let weak = await refusal {
            _ = try await vault.rotateKeys(passcode: secret("correct1"), newPasscode: secret("x"))
        }
        #expect(weak?.code == .refused)
        #expect(try home.keybag().encoded == before)
    }

    @Test("A failed write leaves both generations, and the next unlock goes on")
    func failures() async throws {
        try await TemporaryVault.with(passcode: Self.passcode) { temporary in
            let vault = temporary.vault
            for account in ["a", "b"] {
                try await vault.tokens.put(Token(copying: account), for: id(account))
            }
            temporary.faults.fail(.changing, with: CofferError(.noSpace, "full"))
            #expect(await refusal { _ = try await vault.rotateKeys(passcode: secret()) }?.code == .noSpace)
            #expect(try await vault.status().isRotatingKeys)
            #expect(try await vault.tokens.get(id("a"))?.string == "a")
            try await vault.tokens.put(Token(copying: "c"), for: id("c"))
            let other = try await temporary.openAnother()
            try await other.unlock(with: secret())
            #expect(try await !other.status().isRotatingKeys)
            for account in ["a", "b", "c"] {
                #expect(try await other.tokens.get(id(account))?.string == account)
                #expect(try await vault.tokens.get(id(account))?.string == account)
            }
        }
    }

    @Test("Tokens that are stored and files that are added during rotations are not lost")
    func concurrent() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let other = try await home.unlocked(Self.passcode)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<4 { _ = try await vault.rotateKeys(passcode: secret()) }
            }
            group.addTask {
                for number in 0..<60 {
                    try await vault.tokens.put(Token(copying: "own"), for: id("own\(number)"))
                    try await other.tokens.put(Token(copying: "other"), for: id("other\(number)"))
                }
            }
            try await group.waitForAll()
        }
        let last = try await home.unlocked(Self.passcode)
        #expect(try !home.keybag().isRotating)
        #expect(try await last.tokens.count() == 120)
        for number in 0..<60 {
            #expect(try await last.tokens.get(id("own\(number)"))?.string == "own")
            #expect(try await last.tokens.get(id("other\(number)"))?.string == "other")
        }
    }
}
