import Coffer
import CofferBase
import Testing

/// Any program of the user can hand a value to a locked vault. Such a value must not decide how the owner's
/// next secret is protected.
@Suite("What a new value keeps of a value that anyone can have stored")
struct KeptClassTests {
    private static let passcode = "correct horse"

    private func id(_ account: String = "ada") throws -> TokenID {
        try TokenID(service: "bank.example", account: account)
    }

    /// A locked home with a value of unknown origin in the class `protection`.
    private func planted(_ protection: ProtectionClass) async throws -> TestHome {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        owner.lock()
        let stranger = try await home.open()
        let result = try await stranger.tokens.put(
            Token(copying: "planted"), for: id(), class: protection, scopes: ["all"],
            attributes: ["label": "bank"])
        #expect(result == .queued)
        return home
    }

    @Test(
        "A new value keeps nothing of a marked one",
        arguments: [.whenUnlocked, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly] as [ProtectionClass])
    func marked(_ protection: ProtectionClass) async throws {
        let home = try await planted(protection)
        let owner = try await home.unlocked(Self.passcode)
        let planted = try #require(try await owner.tokens.info(for: id()))
        #expect(planted.isStoredWhileLocked && planted.protection == protection)
        #expect(try await owner.tokens.set("secret", for: id()) == .stored(version: 2))
        let own = try #require(try await owner.tokens.info(for: id()))
        #expect(own.protection == .whenUnlockedThisDeviceOnly && !own.isStoredWhileLocked)
        #expect(own.scopes.isEmpty && own.attributes.isEmpty)
        owner.lock()
        #expect(await refusal { _ = try await owner.tokens.get(id()) }?.code == .locked)
    }

    @Test(
        "A value stored behind the lock keeps nothing of a marked one, even if its program has read that one",
        arguments: [.whenUnlocked, .afterFirstUnlock] as [ProtectionClass])
    func markedAndLocked(_ protection: ProtectionClass) async throws {
        let home = try await planted(protection)
        let owner = try await home.unlocked(Self.passcode)
        #expect(try await owner.tokens[id()]?.string == "planted")
        owner.lock()
        #expect(try await owner.tokens.set("secret", for: id()) == .queued)
        let own = try #require(try await owner.tokens.info(for: id()))
        #expect(own.protection == .whenUnlockedThisDeviceOnly && own.attributes.isEmpty)
    }

    @Test(
        "A marked value is not refreshed: it reaches no program, and decides nothing about a new one",
        arguments: [.whenUnlocked, .afterFirstUnlock] as [ProtectionClass])
    func refreshed(_ protection: ProtectionClass) async throws {
        let home = try await planted(protection)
        let owner = try await home.unlocked(Self.passcode)
        let error = await refusal {
            _ = try await owner.tokens.refresh(id()) { _, _ throws(CofferError) in
                Issue.record("The planted value reached the exchange.")
                return RefreshResponse(try Token(copying: "secret"))
            }
        }
        #expect(error?.code == .refused && error?.remedy == .storeTokenAgain)
        #expect(try await owner.tokens[id()]?.string == "planted")
        #expect(try await owner.tokens.info(for: id())?.isStoredWhileLocked == true)
        // The remedy: the owner's own value, of the standard class, can be refreshed.
        try await owner.tokens.set("own", for: id())
        let result = try await owner.tokens.refresh(id()) { _, _ throws(CofferError) in
            RefreshResponse(try Token(copying: "secret"))
        }
        #expect(result?.didRefresh == true)
        #expect(result?.info.protection == .whenUnlockedThisDeviceOnly)
        #expect(result?.info.attributes.isEmpty == true && result?.info.scopes.isEmpty == true)
    }

    @Test("Behind the lock, a weaker class is kept only of a value that the vault object knows")
    func weakerClass() async throws {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        try await owner.tokens.put(Token(copying: "1"), for: id(), class: .whenUnlocked)
        owner.lock()
        let stranger = try await home.open()
        #expect(try await stranger.tokens.set("2", for: id()) == .queued)
        #expect(try await stranger.tokens.info(for: id())?.protection == .whenUnlockedThisDeviceOnly)
        #expect(try await owner.tokens.set("3", for: id()) == .queued)
        #expect(try await owner.tokens.info(for: id())?.protection == .whenUnlocked)
    }
}
