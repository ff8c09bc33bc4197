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
