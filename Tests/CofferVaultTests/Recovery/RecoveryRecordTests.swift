import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import SystemPackage
import TestSupport
import Testing

@Suite("The copy of the device key")
struct RecoveryRecordTests {
    private let vault: VaultOnDisk
    private let key: RecoveryKey

    init() throws {
        vault = try VaultOnDisk()
        key = try RecoveryKey.generate()
    }

    private func slots(_ key: RecoveryKey, kept: Bool = true) throws -> RecoverySlots {
        try RecoverySlots(key, created: 1, hasDeviceKey: kept, vaultID: vault.device.vaultID)
    }

    private func stage(_ key: RecoveryKey, beside slots: RecoverySlots? = nil) throws {
        try RecoveryRecord.stage(
            RecoveryRecord.slot(key, device: vault.device), beside: slots, in: vault.directory)
    }

    /// Whether the key opens the copy to the vault's device key; an error's code if not.
    private func opens(_ key: RecoveryKey) throws -> CofferError.Code? {
        do throws(CofferError) {
            let found = try RecoveryRecord.deviceKey(key, vaultID: vault.device.vaultID, in: vault.directory)
            let isSame = try found.isEqual(to: vault.device.deviceKey().key)
            #expect(isSame)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Without a file nothing opens; with it, its key does and no other")
    func keys() throws {
        #expect(try opens(key) == .absent)
        try stage(key)
        #expect(try opens(key) == nil)
        #expect(try opens(.generate()) == .notAuthentic)
        let bytes = try vault.read("recovery")
        #expect(bytes.count == 1024 && bytes.prefix(512).elementsEqual(bytes.suffix(512)))
        let other = try VaultID.random()
        let code = failure { _ = try RecoveryRecord.deviceKey(key, vaultID: other, in: vault.directory) }
        #expect(code == .foreign)
    }

    @Test("Damage to any byte of one slot is harmless, and of both is an error")
    func damage() throws {
        try stage(key)
        let good = try vault.read("recovery")
        for offset in 0..<512 {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            try vault.write("recovery", damaged)
            #expect(try opens(key) == nil, "byte \(offset)")
            damaged[512 + offset] ^= 1 << UInt8(offset % 8)
            try vault.write("recovery", damaged)
            #expect(try opens(key) != nil, "byte \(offset)")
        }
        for size in [0, 1, 511, 512, 1023, 1025] {
            try vault.write("recovery", Array((good + [0]).prefix(size)))
            #expect(try opens(key) == .corrupt, "\(size) bytes")
        }
    }

    @Test("A new key's slot leaves the current one's, until the keybag has decided")
    func staging() throws {
        try stage(key)
        let next = try RecoveryKey.generate()
        try stage(next, beside: slots(key))
        #expect(try opens(key) == nil && opens(next) == nil)
        let both = try vault.read("recovery")
        // The keybag still has the old key.
        try RecoveryRecord.settle(slots(key), in: vault.directory)
        #expect(try opens(key) == nil && opens(next) == .notAuthentic)
        // Or it has the new one.
        try vault.write("recovery", both)
        try RecoveryRecord.settle(slots(next), in: vault.directory)
        #expect(try opens(key) == .notAuthentic && opens(next) == nil)
        let settled = try vault.read("recovery")
        try RecoveryRecord.settle(slots(next), in: vault.directory)
        #expect(try vault.read("recovery") == settled)
    }

    @Test("Where no copy is wanted, what is there is removed; what cannot be told apart stays")
    func settling() throws {
        try stage(key)
        // The slots of a third key: neither slot is the current one, and both may be all that is left.
        let before = try vault.read("recovery")
        try RecoveryRecord.settle(slots(.generate()), in: vault.directory)
        #expect(try vault.read("recovery") == before)
        let isOther = try RecoveryRecord.isPresent(slots(.generate()), in: vault.directory)
        let isOwn = try RecoveryRecord.isPresent(slots(key), in: vault.directory)
        #expect(!isOther && isOwn)
        try RecoveryRecord.settle(slots(key, kept: false), in: vault.directory)
        #expect(try opens(key) == .absent)
        try stage(key)
        try RecoveryRecord.settle(nil, in: vault.directory)
        #expect(try opens(key) == .absent)
        try vault.directory.makeDirectory("recovery")
        try RecoveryRecord.settle(nil, in: vault.directory)
        let kind = try vault.directory.status(of: "recovery")?.kind
        #expect(kind == .directory)
    }

    @Test("A file that a crash left half made does not stop the next key")
    func halfMade() throws {
        try stage(key)
        try vault.write("recovery", Array(try vault.read("recovery").prefix(700)))
        let next = try RecoveryKey.generate()
        try stage(next, beside: slots(key))
        #expect(try opens(next) == nil && opens(key) == .notAuthentic)
    }
}
