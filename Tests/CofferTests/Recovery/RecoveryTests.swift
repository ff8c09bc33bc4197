import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import CofferVault
import SystemPackage
import TestSupport
import Testing

@Suite("Recovery keys of a vault")
struct RecoveryTests {
    private static let old = "correct horse"
    private static let new = "battery staple"

    private func recovery(_ home: TestHome, _ key: RecoveryKey) async throws -> VaultRecovery {
        try await VaultRecovery(of: home.location, with: key)
    }

    /// A vault with a token of each class and a recovery key.
    private func filled(
        _ home: TestHome, options: VaultOptions = TestHome.options(), keepingDeviceKey: Bool = true
    ) async throws -> RecoveryKey {
        let vault = try await home.create(Self.old, options: options)
        for protection in ProtectionClass.allCases {
            try await vault.tokens.put(
                Token(copying: protection.name), for: id(protection), class: protection)
        }
        let key = try await vault.createRecoveryKey(
            passcode: Passcode(copying: Self.old), keepingDeviceKey: keepingDeviceKey)
        vault.close()
        return key
    }

    private func id(_ protection: ProtectionClass) throws -> TokenID {
        try TokenID(service: "example.org", account: protection.name)
    }

    private func values(_ vault: Vault) async throws -> [ProtectionClass] {
        var found: [ProtectionClass] = []
        for protection in ProtectionClass.allCases {
            if try await vault.tokens.get(id(protection)) != nil { found.append(protection) }
        }
        return found
    }

    @Test("Whoever forgot the passcode comes back with the sheet, and sets a new one and a new key")
    func forgotten() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        #expect(await refusal(of: "forgotten", by: try home.open())?.attemptsLeft == 9)
        let locked = try await home.open()
        let status = try #require(try await locked.recoveryKeyStatus())
        #expect(try status.number == key.number(in: locked.vaultID) && status.opensWithoutDeviceKey)
        #expect(try await locked.status().recoveryKey == status)
        // As from paper.
        let typed = try RecoveryKey(key.text())
        try await locked.checkRecoveryKey(typed)
        #expect(!locked.isUnlocked)
        let recovery = try await recovery(home, typed)
        #expect(!recovery.isDeviceKeyLost && recovery.endsPasscodeDependentItems)
        let next = try RecoveryKey.generate()
        let (vault, destroyed) = try await recovery.finish(
            newPasscode: Passcode(copying: Self.new), newRecoveryKey: next)
        #expect(vault.isUnlocked && destroyed?.tokens == 1)
        #expect(try await values(vault) == ProtectionClass.allCases.filter { !$0.requiresPasscode })
        #expect(try home.attempts().failures == 0)
        try await vault.tokens.put(
            Token(copying: "new"), for: id(.whenPasscodeSetThisDeviceOnly),
            class: .whenPasscodeSetThisDeviceOnly)
        vault.close()
        // The old passcode and the old key are void, the new ones count.
        let error = await refusal(of: Self.old, by: try home.open())
        #expect(error?.code == .wrongPasscode && error?.attemptsLeft == 9)
        let reopened = try await home.unlocked(Self.new)
        #expect(try await values(reopened).count == 5)
        try await reopened.checkRecoveryKey(next)
        #expect(await refusal { try await reopened.checkRecoveryKey(key) }?.code == .notAuthentic)
        #expect(await refusal { _ = try await self.recovery(home, key) }?.code == .notAuthentic)
        _ = try await self.recovery(home, next)
    }

    @Test("A vault has none unless it is made, and a recovery needs one")
    func none() async throws {
        let home = try TestHome()
        _ = try await home.create(Self.old)
        let vault = try await home.open()
        #expect(try await vault.recoveryKeyStatus() == nil)
        #expect(try await vault.removeRecoveryKey() == false)
        let key = try RecoveryKey.generate()
        #expect(await refusal { try await vault.checkRecoveryKey(key) }?.code == .absent)
        #expect(await refusal { _ = try await self.recovery(home, key) }?.code == .absent)
        #expect(try home.everything()["vault/recovery"] == nil)
    }

    @Test("Even an unlocked vault wants its passcode for a recovery key, and counts wrong ones")
    func passcodes() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.old)
        #expect(vault.isUnlocked)
        #expect(await refusal { _ = try await vault.createRecoveryKey(passcode: nil) }?.code == .locked)
        let wrong = await refusal {
            _ = try await vault.createRecoveryKey(passcode: Passcode(copying: "wrong"))
        }
        #expect(wrong?.code == .wrongPasscode && wrong?.attemptsLeft == 9)
        #expect(try home.keybag().recoverySlots == nil && home.everything()["vault/recovery"] == nil)
        let key = try await vault.createRecoveryKey(passcode: Passcode(copying: Self.old))
        let again = await refusal {
            try await vault.setRecoveryKey(key, passcode: Passcode(copying: Self.old))
        }
        #expect(again?.code == .refused)
        // Wrong recovery keys are not counted.
        for _ in 0..<12 {
            let other = try RecoveryKey.generate()
            #expect(await refusal { _ = try await self.recovery(home, other) }?.code == .notAuthentic)
        }
        #expect(try home.attempts().failures == 0)
    }

    @Test("The key stays valid over a change, a removal and a return of the passcode")
    func passcodeChanges() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        let vault = try await home.open()
        let before = try home.keybag().recovery
        try await vault.changePasscode(
            to: Passcode(copying: Self.new), current: Passcode(copying: Self.old))
        try await vault.checkRecoveryKey(key)
        try await vault.changePasscode(to: nil, current: Passcode(copying: Self.new))
        try await vault.checkRecoveryKey(key)
        try await vault.changePasscode(to: Passcode(copying: Self.old), current: nil)
        try await vault.checkRecoveryKey(key)
        #expect(try home.keybag().recovery == before)
    }

    @Test("A recovery key of a vault without passcode sets one; a policy holds for the new passcode")
    func withoutPasscode() async throws {
        let home = try TestHome()
        let vault = try await home.create(options: TestHome.options { $0.policy = .alphanumeric })
        let key = try await vault.createRecoveryKey(passcode: nil)
        let recovery = try await recovery(home, key)
        #expect(!recovery.endsPasscodeDependentItems && recovery.policy == .alphanumeric)
        let next = try RecoveryKey.generate()
        let before = try home.everything()
        let refused = await refusal {
            _ = try await recovery.finish(newPasscode: Passcode(copying: "short"), newRecoveryKey: next)
        }
        #expect(refused?.code == .refused)
        let same = await refusal {
            _ = try await recovery.finish(newPasscode: Passcode(copying: "horse 123"), newRecoveryKey: key)
        }
        #expect(same?.code == .refused)
        let (now, first) = (try home.everything(), before)
        #expect(now.filter { $0.key != "vault/attempts" } == first.filter { $0.key != "vault/attempts" })
        _ = try await recovery.finish(newPasscode: Passcode(copying: "horse 123"), newRecoveryKey: next)
        #expect(try await home.unlocked("horse 123").status().hasPasscode)
    }

    @Test("Removed, a key opens nothing, and neither slots nor copy are left")
    func removed() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        let slots = try home.keybag().recovery.values.map(\.encoded)
        let copy = try Array(home.read("recovery")[32..<128])
        #expect(try home.occurrences(of: copy) == 1)
        for slot in slots { #expect(try home.occurrences(of: slot) == 1) }
        let vault = try await home.open()
        #expect(try await vault.removeRecoveryKey())
        #expect(try home.occurrences(of: copy) == 0)
        for slot in slots { #expect(try home.occurrences(of: slot) == 0) }
        #expect(await refusal { try await vault.checkRecoveryKey(key) }?.code == .absent)
        #expect(try await values(home.unlocked(Self.old)).count == 5)
    }

    @Test("A new key replaces the old one's slots and copy")
    func replaced() async throws {
        let home = try TestHome()
        let first = try await filled(home)
        let copy = try Array(home.read("recovery")[32..<128])
        let vault = try await home.open()
        let second = try await vault.createRecoveryKey(passcode: Passcode(copying: Self.old))
        #expect(try home.occurrences(of: copy) == 0)
        #expect(await refusal { try await vault.checkRecoveryKey(first) }?.code == .notAuthentic)
        try await vault.checkRecoveryKey(second)
        let strict = try await vault.createRecoveryKey(
            passcode: Passcode(copying: Self.old), keepingDeviceKey: false)
        #expect(try home.everything()["vault/recovery"] == nil)
        try await vault.checkRecoveryKey(strict)
        #expect(try await vault.recoveryKeyStatus()?.opensWithoutDeviceKey == false)
    }

    @Test("Forbidden, a key is removed, and none can be made before it is allowed with the passcode")
    func forbidden() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        let vault = try await home.open()
        #expect(try await vault.settings().allowsRecoveryKey)
        #expect(try await !vault.changeSettings { $0.allowsRecoveryKey = false }.allowsRecoveryKey)
        #expect(try home.everything()["vault/recovery"] == nil && home.keybag().recovery.isEmpty)
        #expect(await refusal { _ = try await self.recovery(home, key) }?.code == .absent)
        let passcode = try Passcode(copying: Self.old)
        let refused = await refusal { _ = try await vault.createRecoveryKey(passcode: passcode) }
        #expect(refused?.code == .refused)
        let loosening = await refusal { try await vault.changeSettings { $0.allowsRecoveryKey = true } }
        #expect(loosening?.code == .locked)
        try await vault.changeSettings(passcode: passcode) { $0.allowsRecoveryKey = true }
        _ = try await vault.createRecoveryKey(passcode: passcode)
        let other = try TestHome()
        let born = try await other.create(options: TestHome.options { $0.allowsRecoveryKey = false })
        #expect(await refusal { _ = try await born.createRecoveryKey(passcode: nil) }?.code == .refused)
    }

    @Test("After a wipe and after the tenth wrong passcode, a recovery key opens nothing")
    func wiped() async throws {
        for erases in [true, false] {
            let home = try TestHome()
            let key = try await filled(home)
            let copy = try Array(home.read("recovery")[32..<128])
            let prepared = try await recovery(home, key)
            if erases {
                for number in 1...10 { _ = await refusal(of: "wrong \(number)", by: try home.open()) }
            } else {
                _ = try await Vault.wipe(at: home.location)
            }
            #expect(await refusal { _ = try await self.recovery(home, key) }?.code == .wiped)
            let late = await refusal {
                _ = try await prepared.finish(
                    newPasscode: Passcode(copying: Self.new), newRecoveryKey: RecoveryKey.generate())
            }
            #expect(late?.code == .wiped)
            #expect(try home.occurrences(of: copy) == 0)
        }
    }

    @Test("A count that has reached ten erases the vault instead of opening it")
    func exhausted() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        let recovery = try await recovery(home, key)
        // As after a kill between the tenth wrong passcode and the erasure.
        let device = try home.deviceKey()
        let vault = try home.directory().openVault()
        let stored = try AttemptRecord.record.read(device: device, in: vault)
        let full = AttemptRecord(failures: 10, lastTag: [UInt8](repeating: 7, count: 32), bootIdentifier: "x")
        try AttemptRecord.record.update(stored, to: full, device: device, in: vault)
        let error = await refusal {
            _ = try await recovery.finish(
                newPasscode: Passcode(copying: Self.new), newRecoveryKey: RecoveryKey.generate())
        }
        #expect(error?.code == .wiped)
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }

    @Test("Another vault's key, and slots of another vault, open nothing")
    func foreign() async throws {
        let (home, other) = (try TestHome(), try TestHome())
        let (key, stranger) = (try await filled(home), try await filled(other))
        #expect(await refusal { _ = try await self.recovery(home, stranger) }?.code == .notAuthentic)
        let own = try home.read("recovery")
        try home.write("recovery", other.read("recovery"))
        #expect(await refusal { try await home.open().checkRecoveryKey(key) }?.code == .foreign)
        try home.write("recovery", own)
        try await home.open().checkRecoveryKey(key)
        for slot in [0, 512] {
            var damaged = own
            damaged[slot + 90] ^= 1
            try home.write("recovery", damaged)
            try await home.open().checkRecoveryKey(key)
        }
        var damaged = own
        damaged[90] ^= 1
        damaged[512 + 90] ^= 1
        try home.write("recovery", damaged)
        #expect(await refusal { try await home.open().checkRecoveryKey(key) }?.code == .notAuthentic)
        // The slots still open the vault while its device key is there.
        try home.remove("recovery")
        let missing = await refusal { try await home.open().checkRecoveryKey(key) }
        #expect(missing?.code == .corrupt && missing?.remedy == .createRecoveryKey)
        _ = try await recovery(home, key)
    }

    @Test("A damaged or missing device record is replaced from the copy; without a copy it stays damaged")
    func deviceRecord() async throws {
        for keeps in [true, false] {
            for isMissing in [true, false] {
                let home = try TestHome()
                let key = try await filled(home, keepingDeviceKey: keeps)
                let record = try home.read("device")
                if isMissing {
                    try home.remove("device")
                } else {
                    var damaged = record
                    damaged[40] ^= 1
                    try home.write("device", damaged)
                }
                #expect(await refusal { _ = try await home.open() }?.code == .corrupt)
                guard keeps else {
                    #expect(await refusal { _ = try await self.recovery(home, key) }?.code == .corrupt)
                    continue
                }
                let wrong = try RecoveryKey.generate()
                #expect(await refusal { _ = try await self.recovery(home, wrong) }?.code == .notAuthentic)
                let recovery = try await recovery(home, key)
                #expect(recovery.isDeviceKeyLost && recovery.loss?.code == .corrupt)
                let (vault, _) = try await recovery.finish(
                    newPasscode: Passcode(copying: Self.new), newRecoveryKey: RecoveryKey.generate())
                #expect(try await values(vault).count == 4)
                #expect(try home.read("device") == record)
                #expect(try await values(home.unlocked(Self.new)).count == 4)
            }
        }
    }

    @Test("An interrupted change leaves one key that opens, and the next unlock tidies up")
    func interrupted() async throws {
        let home = try TestHome()
        let key = try await filled(home)
        let device = try home.deviceKey()
        let next = try RecoveryKey.generate()
        // As after a kill between the copy and the keybag.
        try RecoveryRecord.stage(
            RecoveryRecord.slot(next, device: device), beside: home.keybag().recoverySlots,
            in: home.directory().openVault())
        let staged = try home.read("recovery")
        #expect(!staged.prefix(512).elementsEqual(staged.suffix(512)))
        try await home.open().checkRecoveryKey(key)
        #expect(await refusal { try await home.open().checkRecoveryKey(next) }?.code == .notAuthentic)
        _ = try await home.unlocked(Self.old)
        let tidy = try home.read("recovery")
        #expect(tidy.prefix(512).elementsEqual(tidy.suffix(512)))
        try await home.open().checkRecoveryKey(key)
        // As after a kill of a removal, before the file is gone.
        try home.changeKeybag { $0.removeRecoveryKey() }
        _ = try await home.unlocked(Self.old)
        #expect(try home.everything()["vault/recovery"] == nil)
    }

    @Test("The checks say whether there is a recovery key")
    func checks() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.old)
        func check() async throws -> SecurityCheck {
            try #require(try await vault.securityChecks().first { $0.name == "recovery-key" })
        }
        let none = try await check()
        #expect(none.status == .advisory && none.remedy == .createRecoveryKey)
        _ = try await vault.createRecoveryKey(passcode: Passcode(copying: Self.old))
        #expect(try await check().status == .ok)
        try home.remove("recovery")
        #expect(try await check().status == .missing)
        _ = try await vault.createRecoveryKey(
            passcode: Passcode(copying: Self.old), keepingDeviceKey: false)
        #expect(try await check().status == .ok)
        try await vault.changeSettings { $0.allowsRecoveryKey = false }
        #expect(try await check().status == .ok)
    }
}
