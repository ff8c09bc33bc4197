import CofferBase
import CofferCrypto
import CofferVault
import TestSupport
import Testing

@Suite("The recovery slots of a keybag")
struct RecoverySlotsTests {
    private let vault: VaultOnDisk
    private let key: RecoveryKey
    private let keys: [ProtectionClass: ClassKey]

    init() throws {
        vault = try VaultOnDisk()
        key = try RecoveryKey.generate()
        let kek = try Keybag.wrappingKey(device: vault.device)
        keys = try vault.keybag().unwrap(under: kek, vaultID: vault.device.vaultID)
    }

    /// The keybag with a recovery key, written and read.
    private func change(_ body: (inout Keybag) throws -> Void) throws -> Keybag {
        let stored = try Keybag.record.read(device: vault.device, in: vault.directory)
        var keybag = stored.payload
        try body(&keybag)
        try Keybag.record.update(stored, to: keybag, device: vault.device, in: vault.directory)
        return try vault.keybag()
    }

    private func isSame(_ found: ClassKey, _ expected: ClassKey?) -> Bool {
        expected?.key.isEqual(to: found.key) ?? false
    }

    private func withKey(_ keepingDeviceKey: Bool = true) throws -> Keybag {
        try change {
            try $0.setRecoveryKey(
                key, over: keys, created: 1_800_000_000, keepingDeviceKey: keepingDeviceKey,
                device: vault.device)
        }
    }

    @Test(
        "The recovery key opens every class but the one that requires a passcode", arguments: [true, false])
    func opens(_ keepingDeviceKey: Bool) throws {
        let keybag = try withKey(keepingDeviceKey)
        let slots = try #require(keybag.recoverySlots)
        #expect(slots.hasDeviceKey == keepingDeviceKey && slots.created == 1_800_000_000)
        #expect(try slots.identifier == key.identifier(vaultID: vault.device.vaultID))
        let opened = try keybag.unwrap(with: key, device: vault.device)
        #expect(Set(opened.keys) == Set(ProtectionClass.all(hasPasscode: false)))
        for (protection, found) in opened {
            #expect(isSame(found, keys[protection]))
        }
        #expect(keybag.keys.count == 4 && keybag.recovery.count == 4)
    }

    @Test("Another key, another vault's device key, and no recovery key at all")
    func others() throws {
        #expect(failure { _ = try vault.keybag().unwrap(with: key, device: vault.device) } == .absent)
        let keybag = try withKey()
        let other = try RecoveryKey.generate()
        #expect(failure { _ = try keybag.unwrap(with: other, device: vault.device) } == .notAuthentic)
        // The same vault with another device key: the slots need both.
        let stranger = DeviceKey(vaultID: vault.device.vaultID, deviceKey: try SymmetricKey.random())
        #expect(failure { _ = try keybag.unwrap(with: key, device: stranger) } == .corrupt)
        let elsewhere = try VaultOnDisk()
        #expect(failure { _ = try keybag.unwrap(with: key, device: elsewhere.device) } == .notAuthentic)
    }

    @Test("New class keys get slots without the recovery key, and old class keys keep none")
    func renewed() throws {
        _ = try withKey()
        var fresh = keys
        fresh.merge(
            try ClassKey.make(
                for: [.whenUnlocked, .whenUnlockedThisDeviceOnly], vaultID: vault.device.vaultID)
        ) { $1 }
        let before = try vault.keybag()
        let keybag = try change { try $0.protect(fresh, under: nil, device: vault.device) }
        let opened = try keybag.unwrap(with: key, device: vault.device)
        #expect(opened.count == 4)
        for (protection, found) in opened {
            #expect(isSame(found, fresh[protection]))
        }
        for (protection, wrapped) in keybag.recovery {
            #expect(wrapped != before.recovery[protection], "a slot of before is left")
        }
        // Who opened the old keybag, with all that it has, does not open the new slots.
        let other = try RecoveryKey.generate()
        #expect(failure { _ = try keybag.unwrap(with: other, device: vault.device) } == .notAuthentic)
        // The same class keys again: the slots stay as they are.
        let again = try change { try $0.protect(fresh, under: nil, device: vault.device) }
        #expect(again.recovery == keybag.recovery && again.recoverySlots == keybag.recoverySlots)
    }

    @Test("A slot of another class, an older class key, or a missing one is no recovery slot")
    func tampered() throws {
        let keybag = try withKey()
        var swapped = keybag
        swapped.recovery[.whenUnlocked] = keybag.recovery[.afterFirstUnlock]
        #expect(failure { _ = try swapped.unwrap(with: key, device: vault.device) } == .corrupt)
        var missing = keybag
        missing.recovery[.whenUnlocked] = nil
        #expect(failure { _ = try missing.unwrap(with: key, device: vault.device) } == .corrupt)
        // Class keys that changed without their slots.
        var stale = keybag
        let fresh = try ClassKey.make(
            for: ProtectionClass.all(hasPasscode: false), vaultID: vault.device.vaultID)
        let kek = try Keybag.wrappingKey(device: vault.device)
        try stale.wrap(fresh, under: kek, vaultID: vault.device.vaultID)
        #expect(failure { _ = try stale.unwrap(with: key, device: vault.device) } == .corrupt)
    }

    @Test("Damage to any byte of the keybag's recovery part never opens another key")
    func damagedBytes() throws {
        let keybag = try withKey()
        let plain = try change { $0.removeRecoveryKey() }
        #expect(plain.recoverySlots == nil && plain.recovery.isEmpty && plain.encoded[40] == 0)
        let whole = keybag.encoded
        #expect(whole[40] == 0x20 && whole.count == plain.encoded.count + 4 + 136 + 4 * 98)
        for offset in whole.indices {
            var damaged = whole
            damaged[offset] ^= 1 << UInt8(offset % 8)
            guard let read = try? Keybag.record.decode(damaged),
                let opened = try? read.unwrap(with: key, device: vault.device)
            else { continue }
            for (protection, found) in opened {
                #expect(isSame(found, keys[protection]), "byte \(offset)")
            }
        }
    }

    @Test("Forbidden is kept, and goes with no key")
    func forbidden() throws {
        _ = try withKey()
        let keybag = try change {
            var settings = $0.settings
            #expect(settings.allowsRecoveryKey)
            settings.allowsRecoveryKey = false
            try $0.apply(settings)
        }
        #expect(!keybag.allowsRecoveryKey && keybag.recoverySlots == nil && keybag.recovery.isEmpty)
        #expect(keybag.encoded[40] == 0x20)
        for flags in [UInt8(0), 3, 4, 5, 7, 8, 0xff] {
            var bytes = keybag.encoded
            bytes[bytes.count - 4] = flags
            #expect(failure { _ = try Keybag.record.decode(bytes) } == .corrupt, "\(flags)")
        }
    }

    @Test("The longest denylist, a passcode and a recovery key fit in a slot")
    func fits() throws {
        let denied = (0..<PasscodeDenylist.maxCount).map { "passcode \($0)" }
        let policy = try PasscodePolicy.withDenylist(denied)
        let full = try VaultOnDisk(passcode: "correct horse", policy: policy)
        let stored = try Keybag.record.read(device: full.device, in: full.directory)
        let parameters = try #require(stored.payload.passcode)
        let derived = try DerivedPasscode(Passcode(copying: "correct horse"), parameters, device: full.device)
        let keys = try stored.payload.unwrap(under: derived.wrappingKey, vaultID: full.device.vaultID)
        var keybag = stored.payload
        try keybag.setRecoveryKey(
            key, over: keys, created: 1, keepingDeviceKey: true, device: full.device)
        try Keybag.record.update(stored, to: keybag, device: full.device, in: full.directory)
        #expect(try full.keybag().unwrap(with: key, device: full.device).count == 4)
        #expect(try full.keybag().keys.count == 5)
        #expect(try full.keybag().isRight(derived, vaultID: full.device.vaultID))
    }
}
