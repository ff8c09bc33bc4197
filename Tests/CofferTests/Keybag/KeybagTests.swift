@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("The keybag")
struct KeybagTests {
    private static let slotSize = 4096

    /// A slot as a program with the device key would write it.
    private func slot(
        _ payload: [UInt8], device: DeviceKey, version: UInt16 = 1, generation: UInt64 = 9
    ) throws -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.keybag.utf8))
        writer.append(version)
        writer.pad(to: 16)
        writer.append(generation)
        writer.append(device.vaultID.bytes)
        writer.appendLengthPrefixed(payload)
        writer.pad(to: Self.slotSize - 32)
        let key = try device.key(KDFLabel.keybagMAC)
        return writer.bytes + (try HMAC.authenticate(writer.bytes.span, key: key))
    }

    @Test("Damage to any byte of one slot is harmless; in both slots it is an error")
    func oneDamagedSlotIsRepairedAndTwoAreCorrupt() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let good = try home.read("keybag")
        let vault = try session.core.home.openVault()
        func read() throws(CofferError) -> Keybag {
            try VaultCore.readKeybag(device: session.core.device, in: vault)
        }
        for offset in 0..<Self.slotSize {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            try home.write("keybag", damaged)
            #expect(try read().keys.count == 5, "byte \(offset)")
            damaged[Self.slotSize + offset] ^= 1 << UInt8(offset % 8)
            try home.write("keybag", damaged)
            let code = failure { _ = try read() }
            let isVersion = (8..<10).contains(offset) && code == .unsupportedVersion
            let isVault = (24..<40).contains(offset) && code == .foreign
            #expect(code == .corrupt || isVersion || isVault, "byte \(offset)")
        }
    }

    @Test("The next attempt repairs a half-written slot", arguments: [0, 1])
    func aHalfWrittenSlotIsRepairedAtTheNextUnlock(damagedSlot: Int) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let good = try home.read("keybag")
        var damaged = good
        for offset in 0..<2000 { damaged[damagedSlot * Self.slotSize + offset] = 0xff }
        try home.write("keybag", damaged)
        let session = try await home.open()
        #expect(await refusal(of: "wrong", by: session)?.code == .wrongPasscode)
        #expect(try home.read("keybag") == good)
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("The newer slot counts and replaces the older one")
    func theNewerSlotCounts() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let old = try home.read("keybag")
        try await session.changePasscode(
            to: Passcode(copying: "battery staple"), current: Passcode(copying: "correct horse"))
        let new = try home.read("keybag")
        // An update that was cut short after its first slot: the new one holds, and the old one goes.
        for mixed in [
            Array(new.prefix(Self.slotSize) + old.suffix(Self.slotSize)),
            Array(old.prefix(Self.slotSize) + new.suffix(Self.slotSize)),
        ] {
            try home.write("keybag", mixed)
            let opened = try await home.unlocked("battery staple")
            #expect(opened.isUnlocked)
            #expect(try home.read("keybag") == new)
        }
    }

    @Test("A keybag of a newer version is reported as unsupported")
    func aNewerVersionIsSaid() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let core = session.core
        let payload = try core.readKeybag().encoded
        let newer = try slot(payload, device: core.device, version: 2)
        try home.write("keybag", newer + newer)
        #expect(await refusal { _ = try await home.open() }?.code == .unsupportedVersion)
        let same = try slot(payload, device: core.device)
        try home.write("keybag", same + same)
        _ = try await home.unlocked("correct horse")
    }

    @Test(
        "An authentic keybag with a cost out of bounds is refused",
        arguments: [
            (1024, 2), (8 * 1024 - 1, 2), (8 * 1024, 1), (0, 0), (5 << 20, 3), (65536, 65), (.max, .max),
        ])
    func aCostOutOfBoundsIsRefusedThoughAuthentic(memory: Int, passes: Int) async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        var payload = try session.core.readKeybag().encoded
        payload.replaceSubrange(
            44..<52,
            with: UInt32(truncatingIfNeeded: memory).bigEndianBytes
                + UInt32(truncatingIfNeeded: passes).bigEndianBytes)
        let bytes = try slot(payload, device: session.core.device)
        try home.write("keybag", bytes + bytes)
        #expect(await refusal { _ = try await home.open() }?.code == .refused)
    }

    @Test("Unknown derivations, classes and algorithms count as a newer release")
    func unknownDerivationsClassesAndAlgorithmsAreOfANewerRelease() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let good = try session.core.readKeybag().encoded
        for (offset, value, code) in [
            (40, UInt8(2), CofferError.Code.unsupportedVersion), (71, 9, .unsupportedVersion),
            (72, 2, .unsupportedVersion), (1, 9, .corrupt), (0, 2, .corrupt), (69, 200, .corrupt),
            (73, 1, .corrupt),
        ] {
            var payload = good
            payload[offset] = value
            let bytes = try slot(payload, device: session.core.device)
            try home.write("keybag", bytes + bytes)
            #expect(await refusal { _ = try await home.open() }?.code == code, "byte \(offset)")
        }
    }

    @Test("A wrapped key does not open as the key of another class")
    func aWrappedKeyOfAnotherClassDoesNotOpen() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var keybag = try session.core.readKeybag()
        let first = keybag.keys[.whenUnlockedThisDeviceOnly]
        keybag.keys[.whenUnlockedThisDeviceOnly] = keybag.keys[.afterFirstUnlockThisDeviceOnly]
        keybag.keys[.afterFirstUnlockThisDeviceOnly] = first
        let bytes = try slot(keybag.encoded, device: session.core.device)
        try home.write("keybag", bytes + bytes)
        #expect(await refusal { _ = try await home.unlocked() }?.code == .corrupt)
    }
}
