import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing

@Suite("Giving tokens another class")
struct TokenReclassifyTests {
    private static let passcode = "correct horse"

    private func id(_ account: String) throws -> TokenID { try TokenID(service: "s", account: account) }

    private func passcode() throws -> Passcode { try Passcode(copying: Self.passcode) }

    @Test("The value, version, dates, scopes, attributes and mark stay; only the class changes")
    func kept() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let date = Date(timeIntervalSince1970: 2_000_000_000)
        for text in ["one", "two"] {
            try await vault.tokens.put(
                Token(copying: text), for: id("a"), expires: date, scopes: ["r"], attributes: ["k": "v"])
        }
        vault.lock()
        try await vault.tokens.put(Token(copying: "pending"), for: id("b"))
        try await vault.unlock(with: passcode())
        let before = try await vault.tokens.list()
        let report = try await vault.tokens.reclassify(to: .whenUnlocked, passcode: passcode())
        #expect(report.changed == 2 && report.unchanged == 0 && report.kept.isEmpty)
        let other = try await home.unlocked(Self.passcode)
        let after = try await other.tokens.list()
        #expect(after.map(\.protection) == [.whenUnlocked, .whenUnlocked])
        for (old, new) in zip(before, after) {
            #expect(old.id == new.id && old.version == new.version && old.stored == new.stored)
            #expect(old.expires == new.expires && old.scopes == new.scopes)
            #expect(old.attributes == new.attributes && old.isStoredWhileLocked == new.isStoredWhileLocked)
        }
        #expect(after.map(\.isStoredWhileLocked) == [false, true] && after[0].version == 2)
        #expect(try await other.tokens.get(id("a"))?.string == "two")
        let again = try await vault.tokens.reclassify(to: .whenUnlocked)
        #expect(again.changed == 0 && again.unchanged == 2)
    }

    @Test("A weaker class needs the passcode, a stricter one does not, and a wrong one changes nothing")
    func passcodes() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.tokens.put(Token(copying: "v"), for: id("a"))
        for weaker in [ProtectionClass.whenUnlocked, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly] {
            #expect(await refusal { _ = try await vault.tokens.reclassify(to: weaker) }?.code == .locked)
            let wrong = await refusal {
                _ = try await vault.tokens.reclassify(to: weaker, passcode: Passcode(copying: "no"))
            }
            #expect(wrong?.code == .wrongPasscode)
            #expect(try await vault.tokens.info(for: id("a"))?.protection == .whenUnlockedThisDeviceOnly)
        }
        #expect(try await vault.tokens.reclassify(to: .afterFirstUnlock, passcode: passcode()).changed == 1)
        // From there, no class is weaker in either respect.
        #expect(try await vault.tokens.reclassify(to: .whenUnlocked).changed == 1)
        #expect(try await vault.tokens.reclassify(to: .whenUnlockedThisDeviceOnly).changed == 1)
        vault.lock()
        let locked = await refusal { _ = try await vault.tokens.reclassify(to: .afterFirstUnlock) }
        #expect(locked?.code == .locked)
    }

    @Test("What cannot change says why; an absent name changes nothing")
    func obstacles() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.tokens.put(Token(copying: "1"), for: id("plain"))
        try await vault.tokens.put(Token(copying: "2"), for: id("session"), isEphemeral: true)
        try await vault.tokens.put(
            Token(copying: "3"), for: id("passcode"), class: .whenPasscodeSetThisDeviceOnly)
        let reserved = try TokenID(service: "oauth:work", account: "ada")
        try await vault.tokens.putReserved(
            Token(copying: "4"), for: reserved, class: .whenUnlockedThisDeviceOnly)
        let names = [try id("plain"), try id("missing")]
        let absent = await refusal {
            _ = try await vault.tokens.reclassify(names, to: .whenUnlocked, passcode: passcode())
        }
        #expect(absent?.code == .absent)
        #expect(try await vault.tokens.info(for: id("plain"))?.protection == .whenUnlockedThisDeviceOnly)
        let report = try await vault.tokens.reclassify(to: .whenUnlocked, passcode: passcode())
        #expect(report.changed == 1)
        let reasons = Dictionary(uniqueKeysWithValues: report.kept.map { ($0.item, $0.reason) })
        #expect(
            reasons == [
                try id("session"): .sessionOnly, try id("passcode"): .passcodeDependent,
                reserved: .reserved,
            ])
        #expect(try await vault.tokens.get(id("passcode"))?.string == "3")
    }

    @Test("A vault without a passcode has no class that requires one")
    func withoutPasscode() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        try await vault.tokens.put(Token(copying: "v"), for: id("a"))
        let refused = await refusal {
            _ = try await vault.tokens.reclassify(to: .whenPasscodeSetThisDeviceOnly)
        }
        #expect(refused?.code == .refused)
        #expect(try await vault.tokens.reclassify([id("a")], to: .whenUnlocked).changed == 1)
        #expect(try await vault.tokens.get(id("a"))?.string == "v")
    }

    @Test("A program that read the value before still proves that its next one continues it")
    func ticket() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        try await vault.tokens.put(Token(copying: "1"), for: id("a"))
        let other = try await home.unlocked(Self.passcode)
        #expect(try await other.tokens.get(id("a"))?.string == "1")
        other.lock()
        _ = try await vault.tokens.reclassify(to: .whenUnlocked, passcode: passcode())
        let put = try await other.tokens.put(Token(copying: "2"), for: id("a"), class: .whenUnlocked)
        #expect(put == .queued)
        try await other.unlock(with: passcode())
        #expect(try await other.tokens.pending().isEmpty)
        #expect(try await vault.tokens.get(id("a"))?.string == "2")
    }

    @Test("A failed write changes nothing, and the call can be repeated")
    func failure() async throws {
        try await TemporaryVault.with { temporary in
            let vault = temporary.vault
            try await vault.tokens.put(Token(copying: "v"), for: id("a"))
            temporary.faults.fail(.changing, with: CofferError(.noSpace, "full"))
            let full = await refusal { _ = try await vault.tokens.reclassify(to: .whenUnlocked) }
            #expect(full?.code == .noSpace)
            #expect(try await vault.tokens.info(for: id("a"))?.protection == .whenUnlockedThisDeviceOnly)
            #expect(try await vault.tokens.reclassify(to: .whenUnlocked).changed == 1)
            #expect(try await vault.tokens.get(id("a"))?.string == "v")
        }
    }

    @Test(
        "A vault's default class is that of new tokens and files for which none is given",
        arguments: [false, true])
    func defaultClass(_ isMovable: Bool) async throws {
        let home = try TestHome()
        let vault = try await home.create(
            Self.passcode, options: TestHome.options { $0.newItemsAreMovable = isMovable })
        let expected: ProtectionClass = isMovable ? .whenUnlocked : .whenUnlockedThisDeviceOnly
        try await vault.tokens.put(Token(copying: "v"), for: id("a"))
        #expect(try await vault.tokens.info(for: id("a"))?.protection == expected)
        let file = try await vault.files.add([1, 2, 3], name: "f")
        #expect(try await vault.files.info(for: file).protection == expected)
        vault.lock()
        try await vault.tokens.put(Token(copying: "v"), for: id("b"))
        try await vault.unlock(with: passcode())
        #expect(try await vault.tokens.info(for: id("b"))?.protection == expected)
        // Turning it on loosens, turning it off does not.
        let change = await refusal { try await vault.changeSettings { $0.newItemsAreMovable = !isMovable } }
        #expect(change?.code == (isMovable ? nil : .locked))
        try await vault.changeSettings(passcode: passcode()) { $0.newItemsAreMovable = true }
        try await vault.tokens.put(Token(copying: "v"), for: id("c"))
        #expect(try await vault.tokens.info(for: id("c"))?.protection == .whenUnlocked)
        #expect(try await vault.tokens.info(for: id("a"))?.protection == expected)
    }
}
