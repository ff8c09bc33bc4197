import Coffer
import CofferBase
import CofferTesting
import Testing
import TestSupport

@Suite("An app in the background")
struct BackgroundTests {
    private static func with(
        _ inactivity: Duration? = .seconds(600),
        _ body: (_ vault: Vault, _ clock: TestClock, _ id: TokenID) async throws -> Void
    ) async throws {
        var options = VaultOptions()
        options.inactivity = inactivity
        let id = try TokenID(service: "s", account: "a")
        try await TemporaryVault.with(passcode: "2468", options: options) { temporary in
            try await temporary.vault.tokens.set("value", for: id)
            try await body(temporary.vault, temporary.clock, id)
        }
    }

    @Test("Use keeps the vault unlocked in the foreground, and not in the background")
    func use() async throws {
        try await Self.with { vault, clock, id in
            for _ in 0..<3 {
                clock.advance(by: .seconds(599))
                let read = try await vault.tokens[id]?.string
                #expect(read == "value")
            }
            vault.enterBackground()
            clock.advance(by: .seconds(599))
            #expect(try await vault.tokens[id]?.string == "value")
            clock.advance(by: .seconds(1))
            #expect(await refusal { _ = try await vault.tokens[id] }?.code == .locked)
            #expect(!vault.isUnlocked)
        }
    }

    @Test("The time runs from entering the background, and again from the return")
    func start() async throws {
        try await Self.with { vault, clock, _ in
            clock.advance(by: .seconds(500))
            vault.enterBackground()
            clock.advance(by: .seconds(599))
            #expect(vault.enterForeground())
            clock.advance(by: .seconds(599))
            #expect(vault.isUnlocked)
            clock.advance(by: .seconds(1))
            #expect(!vault.isUnlocked)
        }
    }

    @Test("After the time in the background, the vault is locked on the return, and says why")
    func late() async throws {
        try await Self.with { vault, clock, id in
            let events = vault.events
            vault.enterBackground()
            // A suspended machine: the clock has moved on, and no timer has fired.
            clock.advance(by: .seconds(600))
            #expect(!vault.enterForeground())
            #expect(await refusal { _ = try await vault.tokens[id] }?.code == .locked)
            for await event in events {
                #expect(event == VaultEvent(.locked, .inactivity))
                break
            }
            try await vault.unlock(with: Passcode(copying: "2468"))
            #expect(try await vault.tokens[id]?.string == "value")
        }
    }

    @Test("The wall clock decides nothing")
    func wallClock() async throws {
        try await Self.with { vault, clock, _ in
            vault.enterBackground()
            clock.setWallClock(to: .seconds(4_000_000_000))
            #expect(vault.enterForeground())
            vault.enterBackground()
            clock.advance(by: .seconds(600))
            clock.setWallClock(to: .seconds(1_800_000_000))
            #expect(!vault.enterForeground())
        }
    }

    @Test("Entering twice does not restart the time, and a return without an entry restarts nothing")
    func repeated() async throws {
        try await Self.with { vault, clock, _ in
            vault.enterBackground()
            clock.advance(by: .seconds(400))
            vault.enterBackground()
            clock.advance(by: .seconds(200))
            #expect(!vault.enterForeground())
            try await vault.unlock(with: Passcode(copying: "2468"))
            clock.advance(by: .seconds(400))
            #expect(vault.enterForeground())
            clock.advance(by: .seconds(200))
            #expect(!vault.isUnlocked)
        }
    }

    @Test("An unlock in the background lasts for the time, whatever is read")
    func unlockInTheBackground() async throws {
        try await Self.with { vault, clock, id in
            vault.enterBackground()
            clock.advance(by: .seconds(600))
            #expect(!vault.isUnlocked)
            try await vault.unlock(with: Passcode(copying: "2468"))
            clock.advance(by: .seconds(599))
            #expect(try await vault.tokens[id]?.string == "value")
            clock.advance(by: .seconds(1))
            #expect(!vault.enterForeground())
        }
    }

    @Test("A lock in the background stays, and items that outlast a lock stay readable")
    func lockInTheBackground() async throws {
        try await Self.with { vault, clock, id in
            let kept = try TokenID(service: "kept", account: "a")
            try await vault.tokens.put("kept", for: kept, class: .afterFirstUnlockThisDeviceOnly)
            vault.enterBackground()
            vault.lock()
            #expect(!vault.enterForeground())
            vault.enterBackground()
            clock.advance(by: .seconds(100_000))
            vault.enterForeground()
            #expect(try await vault.tokens[kept]?.string == "kept")
            #expect(await refusal { _ = try await vault.tokens[id] }?.code == .locked)
        }
    }

    @Test("Without an inactivity time, the background locks nothing")
    func never() async throws {
        try await Self.with(nil) { vault, clock, id in
            vault.enterBackground()
            clock.advance(by: .seconds(1_000_000))
            #expect(vault.enterForeground())
            let read = try await vault.tokens[id]?.string
            #expect(read == "value")
        }
    }
}
