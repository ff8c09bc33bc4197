import Coffer
import CofferBase
import TestSupport
import Testing

@Suite("The keybag")
struct KeybagTests {
    private static let slotSize = 4096

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

    @Test("A vault whose keybag is of a newer version does not open, and opens again with the old one")
    func aNewerVersionIsSaid() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let good = try home.read("keybag")
        var newer = good
        for slot in [0, 1] { newer[slot * Self.slotSize + 9] = 2 }
        try home.write("keybag", newer)
        #expect(await refusal { _ = try await home.open() }?.code == .unsupportedVersion)
        try home.write("keybag", good)
        _ = try await home.unlocked("correct horse")
    }

    @Test("A keybag whose keys are of other classes is corrupt")
    func aWrappedKeyOfAnotherClassDoesNotOpen() async throws {
        let home = try TestHome()
        _ = try await home.create()
        try home.changeKeybag { keybag in
            let first = keybag.keys[.whenUnlockedThisDeviceOnly]
            keybag.keys[.whenUnlockedThisDeviceOnly] = keybag.keys[.afterFirstUnlockThisDeviceOnly]
            keybag.keys[.afterFirstUnlockThisDeviceOnly] = first
        }
        #expect(await refusal { _ = try await home.unlocked() }?.code == .corrupt)
    }
}
