import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Testing
import TestSupport

@Suite("Ephemeral tokens")
struct EphemeralTokenTests {
    private func text(_ session: Vault, _ id: TokenID) async throws -> String? {
        try await session.tokens.withToken(for: id) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }

    @Test("A volatile token is never on the disk and belongs to its session alone")
    func neverOnTheDiskAndOfThisSessionAlone() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        let before = try home.everything()
        #expect(
            try await session.tokens.put(Token(copying: "x"), for: id, isEphemeral: true)
                == .stored(version: 1))
        #expect(
            try await session.tokens.put(
                Token(copying: "y"), for: id, isEphemeral: true, precondition: .version(1))
                == .stored(version: 2))
        #expect(try home.everything() == before)
        #expect(try await text(session, id) == "y")
        #expect(try await session.tokens.info(for: id)?.isEphemeral == true)
        #expect(try await session.tokens.list().map(\.isEphemeral) == [true])
        #expect(try await session.tokens.count() == 1)
        let other = try await home.unlocked()
        #expect(try await text(other, id) == nil)
        #expect(try await other.tokens.count() == 0)
        #expect(try await session.tokens.remove(id))
        #expect(try await text(session, id) == nil)
        #expect(try await !session.tokens.remove(id))
    }

    @Test("A volatile and a stored token of one name replace each other")
    func oneNameIsOneToken() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "stored"), for: id)
        #expect(
            try await session.tokens.put(Token(copying: "volatile"), for: id, isEphemeral: true)
                == .stored(version: 2))
        #expect(try await text(session, id) == "volatile")
        #expect(try await text(home.unlocked(), id) == nil)
        #expect(try await session.tokens.put(Token(copying: "stored again"), for: id) == .stored(version: 3))
        #expect(try await text(session, id) == "stored again")
        #expect(try await text(home.unlocked(), id) == "stored again")
        #expect(try await session.tokens.list().map(\.isEphemeral) == [false])
    }

    @Test("A refreshed volatile token stays volatile")
    func aRefreshKeepsIt() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "old"), for: id, isEphemeral: true)
        let fresh = try await session.tokens.refresh(id) { _, _ throws(CofferError) in
            RefreshResponse(try Token(copying: "new"))
        }
        #expect(fresh?.didRefresh == true && fresh?.info.isEphemeral == true)
        #expect(try await text(session, id) == "new")
        #expect(try await text(home.unlocked(), id) == nil)
    }

    @Test(
        "Every lock drops volatile tokens of all classes",
        arguments: [ProtectionClass.whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly])
    func everyLockDropsIt(protection: ProtectionClass) async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = .seconds(60) }
        let session = try await home.create("correct horse", options: options, clock: clock.source)
        let id = try TokenID(service: "s", account: "a")
        let locks: [() -> Void] = [
            { session.lock() }, { session.close() },
            {
                clock.advance(by: .seconds(61))
                _ = session.isUnlocked
            },
        ]
        for lock in locks {
            try await session.tokens.put(Token(copying: "x"), for: id, class: protection, isEphemeral: true)
            #expect(try await text(session, id) == "x")
            lock()
            #expect(try await session.tokens.count() == 0)
            try await session.unlock(with: Passcode(copying: "correct horse"))
            #expect(try await text(session, id) == nil)
        }
    }
}
