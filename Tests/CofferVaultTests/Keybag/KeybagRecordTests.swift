import CofferBase
import CofferCrypto
import CofferVault
import SystemPackage
import TestSupport
import Testing

@Suite("The keybag on disk")
struct KeybagRecordTests {
    private static let slotSize = 4096
    private static let tagSize = 32
    /// The offset of the payload in a slot.
    private static let payload = 44

    /// Changes the slot that the vault wrote, and authenticates it again, as a program with the device key
    /// could.
    private func forge(_ vault: VaultOnDisk, _ change: (inout [UInt8]) -> Void) throws {
        var body = Array(try vault.read("keybag").prefix(Self.slotSize - Self.tagSize))
        change(&body)
        let key = try vault.device.key(KDFLabel.keybagMAC)
        let tag = try HMAC.authenticate(body.span, key: key)
        let slot = body + tag
        try vault.write("keybag", slot + slot)
    }

    @Test("Damage to any byte of one slot is harmless; in both slots it is an error")
    func oneDamagedSlotIsRepairedAndTwoAreCorrupt() throws {
        let vault = try VaultOnDisk(passcode: "correct horse")
        let good = try vault.read("keybag")
        for offset in 0..<Self.slotSize {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            try vault.write("keybag", damaged)
            #expect(try vault.keybag().keys.count == 5, "byte \(offset)")
            damaged[Self.slotSize + offset] ^= 1 << UInt8(offset % 8)
            try vault.write("keybag", damaged)
            let code = failure { _ = try vault.keybag() }
            let isVersion = (8..<10).contains(offset) && code == .unsupportedVersion
            let isVault = (24..<40).contains(offset) && code == .foreign
            #expect(code == .corrupt || isVersion || isVault, "byte \(offset)")
        }
    }

    @Test("An authentic keybag of a newer version is reported as unsupported")
    func aNewerVersionIsSaid() throws {
        let vault = try VaultOnDisk(passcode: "correct horse")
        try forge(vault) { $0[9] = 2 }
        #expect(failure { _ = try vault.keybag() } == .unsupportedVersion)
        try forge(vault) { $0[9] = 1 }
        #expect(try vault.keybag().keys.count == 5)
    }

    @Test(
        "An authentic keybag with a cost out of bounds is refused",
        arguments: [
            (1024, 2), (8 * 1024 - 1, 2), (8 * 1024, 1), (0, 0), (5 << 20, 3), (65536, 65), (.max, .max),
        ])
    func aCostOutOfBoundsIsRefusedThoughAuthentic(memory: Int, passes: Int) throws {
        let vault = try VaultOnDisk(passcode: "correct horse")
        let cost =
            UInt32(truncatingIfNeeded: memory).bigEndianBytes
            + UInt32(truncatingIfNeeded: passes).bigEndianBytes
        let start = Self.payload + 44
        try forge(vault) { $0.replaceSubrange(start..<start + 8, with: cost) }
        #expect(failure { _ = try vault.keybag() } == .refused)
    }

    @Test("Unknown derivations, classes and algorithms count as a newer release")
    func unknownDerivationsClassesAndAlgorithmsAreOfANewerRelease() throws {
        for (offset, value, code) in [
            (40, UInt8(2), CofferError.Code.unsupportedVersion), (71, 9, .unsupportedVersion),
            (72, 2, .unsupportedVersion), (1, 9, .corrupt), (0, 2, .corrupt), (69, 200, .corrupt),
            (73, 1, .corrupt),
        ] {
            let vault = try VaultOnDisk(passcode: "correct horse")
            try forge(vault) { $0[Self.payload + offset] = value }
            #expect(failure { _ = try vault.keybag() } == code, "byte \(offset)")
        }
    }

    /// Whether ten wrong passcodes erase is beside the derivation, the same as whether there is a passcode:
    /// earlier releases refuse a keybag in which the two differ.
    @Test(
        "A vault that is not erased is a newer release's to earlier ones; the default's bytes are theirs",
        arguments: [nil, "correct horse"])
    func erasure(_ passcode: String?) throws {
        let vault = try VaultOnDisk(passcode: passcode)
        let derivation: UInt8 = passcode == nil ? 0 : 1
        let stored = try Keybag.record.read(device: vault.device, in: vault.directory)
        let erasing = stored.payload.encoded
        #expect(stored.payload.erasesAfterTenFailures && erasing[0] == derivation)
        #expect(erasing[40..<44].elementsEqual([derivation, 0, 0, 0]))
        var keybag = stored.payload
        keybag.erasesAfterTenFailures = false
        try Keybag.record.update(stored, to: keybag, device: vault.device, in: vault.directory)
        let read = try vault.keybag()
        #expect(!read.erasesAfterTenFailures && (read.passcode == nil) == (passcode == nil))
        // The flag and nothing else, so that what an earlier release compares with byte 0 differs from it.
        var expected = erasing
        expected[40] |= 0x80
        #expect(read.encoded == expected && expected[40] != expected[0])
        try forge(vault) { $0[Self.payload + 40] = derivation }
        #expect(try vault.keybag().erasesAfterTenFailures)
        #expect(try vault.keybag().encoded == erasing)
        for other in [0x02, 0x82, 0xff, 0x81 - derivation] as [UInt8] {
            try forge(vault) { $0[Self.payload + 40] = other }
            #expect(failure { _ = try vault.keybag() } == .unsupportedVersion, "\(other)")
        }
    }

    /// The requirement is beside the derivation, too: 64, which earlier releases refuse with or without the
    /// 128 of a vault that is not erased.
    @Test(
        "A vault that requires an encrypted disk is a newer release's to earlier ones",
        arguments: [nil, "correct horse"], [true, false])
    func diskEncryption(_ passcode: String?, _ erases: Bool) throws {
        let vault = try VaultOnDisk(passcode: passcode)
        let stored = try Keybag.record.read(device: vault.device, in: vault.directory)
        let plain = stored.payload.encoded
        #expect(!stored.payload.requiresDiskEncryption && plain[40] == plain[0])
        var keybag = stored.payload
        keybag.erasesAfterTenFailures = erases
        keybag.requiresDiskEncryption = true
        try Keybag.record.update(stored, to: keybag, device: vault.device, in: vault.directory)
        let read = try vault.keybag()
        #expect(read.requiresDiskEncryption && read.erasesAfterTenFailures == erases)
        #expect(read.settings.requiresDiskEncryption && (read.passcode == nil) == (passcode == nil))
        // What the releases before either setting, and between the two, compare with byte 0 differs from it.
        var expected = plain
        expected[40] |= erases ? 0x40 : 0xc0
        #expect(read.encoded == expected)
        #expect(expected[40] != expected[0] && expected[40] & 0x7f != expected[0])
        try forge(vault) { $0[Self.payload + 40] = plain[40] }
        #expect(try vault.keybag().encoded == plain)
        try forge(vault) { $0[Self.payload + 40] = expected[40] }
        var flipped = try vault.read("keybag")
        for slot in [0, 1] { flipped[slot * Self.slotSize + Self.payload + 40] ^= 0x40 }
        try vault.write("keybag", flipped)
        #expect(failure { _ = try vault.keybag() } == .corrupt)
    }

    @Test(
        "Movable new items and a key rotation make a keybag a newer release's to earlier ones",
        arguments: [nil, "correct horse"])
    func movableAndRotating(_ passcode: String?) throws {
        let vault = try VaultOnDisk(passcode: passcode)
        let stored = try Keybag.record.read(device: vault.device, in: vault.directory)
        let plain = stored.payload.encoded
        #expect(!stored.payload.newItemsAreMovable && !stored.payload.isRotating)
        #expect(stored.payload.defaultClass == .whenUnlockedThisDeviceOnly && plain[40] == plain[0])
        var keybag = stored.payload
        keybag.newItemsAreMovable = true
        let movable = try Keybag.record.update(
            stored, to: keybag, device: vault.device, in: vault.directory)
        #expect(try vault.keybag().newItemsAreMovable && vault.keybag().defaultClass == .whenUnlocked)
        var expected = plain
        expected[40] |= 0x10
        #expect(try vault.keybag().encoded == expected)
        keybag.former = [.whenUnlocked: try #require(keybag.keys[.whenUnlocked])]
        try Keybag.record.update(movable, to: keybag, device: vault.device, in: vault.directory)
        let rotating = try vault.keybag()
        #expect(rotating.isRotating && rotating.former == keybag.former && rotating.newItemsAreMovable)
        #expect(rotating.encoded.count == plain.count + 2 + 98 && rotating.encoded[40] & 0x7e == 0x18)
        // What the releases before these settings compare with byte 0 differs from it.
        for known in [0x00, 0x80, 0xc0] as [UInt8] {
            #expect(expected[40] & ~known != expected[0])
            #expect(rotating.encoded[40] & ~known != rotating.encoded[0])
        }
    }

    @Test(
        "Key pairs make a keybag a newer release's to earlier ones, and unknown features to this one",
        arguments: [nil, "correct horse"])
    func features(_ passcode: String?) throws {
        let vault = try VaultOnDisk(passcode: passcode)
        let stored = try Keybag.record.read(device: vault.device, in: vault.directory)
        let plain = stored.payload.encoded
        #expect(stored.payload.features.isEmpty && Array(plain[41..<44]) == [0, 0, 0])
        var keybag = stored.payload
        keybag.features.insert(.keyPairs)
        try Keybag.record.update(stored, to: keybag, device: vault.device, in: vault.directory)
        let marked = try vault.keybag()
        #expect(marked.features == .keyPairs)
        var expected = plain
        expected[40] |= 0x04
        expected[43] = 1
        #expect(marked.encoded == expected)
        // What the releases before the features compare with byte 0, with all settings that they know.
        #expect(expected[40] & ~0xF8 != expected[0])
        for bit in 2..<24 {
            try forge(vault) { $0[Self.payload + 43 - bit / 8] |= 1 << UInt8(bit % 8) }
            #expect(failure { _ = try vault.keybag() } == .unsupportedVersion, "\(bit)")
            try forge(vault) { $0[Self.payload + 43 - bit / 8] &= ~(1 << UInt8(bit % 8)) }
        }
        #expect(try vault.keybag().encoded == expected)
        try forge(vault) { $0[Self.payload + 43] = 0 }
        #expect(failure { _ = try vault.keybag() } == .corrupt)
        try forge(vault) { $0[Self.payload + 40] = plain[40] }
        #expect(try vault.keybag().encoded == plain)
        try forge(vault) { $0[Self.payload + 43] = 1 }
        #expect(failure { _ = try vault.keybag() } == .corrupt)
    }

    @Test("A rotation without replaced keys, or with those of a class without a key, is damage")
    func impossibleRotations() throws {
        let vault = try VaultOnDisk(passcode: "correct horse")
        try forge(vault) { $0[Self.payload + 40] |= 0x08 }
        #expect(failure { _ = try vault.keybag() } == .corrupt)
        let other = try VaultOnDisk(passcode: nil)
        let stored = try Keybag.record.read(device: other.device, in: other.directory)
        var keybag = stored.payload
        keybag.former = [.whenPasscodeSetThisDeviceOnly: try #require(keybag.keys[.whenUnlocked])]
        try Keybag.record.update(stored, to: keybag, device: other.device, in: other.directory)
        #expect(failure { _ = try other.keybag() } == .corrupt)
    }

    @Test("Without the key of its tag, nobody turns the erasure off or on", arguments: [false, true])
    func flippedErasure(_ erases: Bool) throws {
        let vault = try VaultOnDisk(passcode: "correct horse")
        try forge(vault) { $0[Self.payload + 40] = erases ? 0x01 : 0x81 }
        #expect(try vault.keybag().erasesAfterTenFailures == erases)
        var flipped = try vault.read("keybag")
        for slot in [0, 1] { flipped[slot * Self.slotSize + Self.payload + 40] ^= 0x80 }
        try vault.write("keybag", flipped)
        #expect(failure { _ = try vault.keybag() } == .corrupt)
    }

    @Test("A wrapped key is not authentic as the key of another class")
    func aWrappedKeyOfAnotherClassIsNotAuthentic() throws {
        let vault = try VaultOnDisk()
        var keybag = try vault.keybag()
        let id = vault.device.vaultID
        let key = try Keybag.wrappingKey(device: vault.device)
        let whole = try keybag.unwrap(under: key, vaultID: id)
        #expect(whole.count == keybag.keys.count)
        let first = keybag.keys[.whenUnlockedThisDeviceOnly]
        keybag.keys[.whenUnlockedThisDeviceOnly] = keybag.keys[.afterFirstUnlockThisDeviceOnly]
        keybag.keys[.afterFirstUnlockThisDeviceOnly] = first
        let code = failure { _ = try keybag.unwrap(under: key, vaultID: id) }
        #expect(code == .notAuthentic)
    }
}
