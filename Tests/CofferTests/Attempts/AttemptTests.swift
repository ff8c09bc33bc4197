import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Attempts and their counter")
struct AttemptTests {
    private let delaying = TestHome.options { $0.delaysAttempts = true }

    @Test("Each wrong passcode costs an attempt, and the right one restores them all")
    func wrongPasscodesCountAndTheRightOneClears() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let session = try await home.open()
        for number in 1...3 {
            let error = await refusal(of: "wrong \(number)", by: session)
            #expect(error?.code == .wrongPasscode)
            #expect(error?.attemptsLeft == 10 - number)
            #expect(try await session.status().attemptsLeft == 10 - number)
        }
        #expect(!session.isUnlocked)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(try await session.status().attemptsLeft == 10)
    }

    @Test("The disk keeps the count, so a new process continues it")
    func theCountIsOnTheDisk() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        for number in 1...4 {
            let session = try await home.open()
            #expect(await refusal(of: "wrong \(number)", by: session)?.attemptsLeft == 10 - number)
        }
    }

    @Test("The same wrong passcode in a row costs one attempt")
    func theSameMistakeCountsOnce() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        for _ in 0..<12 {
            let session = try await home.open()
            let error = await refusal(of: "the same", by: session)
            #expect(error?.code == .wrongPasscode)
            #expect(error?.attemptsLeft == 9)
        }
        #expect(await refusal(of: "another", by: try home.open())?.attemptsLeft == 8)
        #expect(await refusal(of: "the same", by: try home.open())?.attemptsLeft == 7)
    }

    @Test("Unlocking without a passcode costs no attempt")
    func nothingGivenIsNoAttempt() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let session = try await home.open()
        #expect(await refusal { try await session.unlock() }?.code == .locked)
        #expect(try await session.status().attemptsLeft == 10)
    }

    @Test("The tenth wrong passcode erases everything")
    func theTenthFailureErasesEverything() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse")
        try await made.tokens.put(Token(copying: "secret"), for: TokenID(service: "s", account: "a"))
        let session = try await home.open()
        for number in 1...9 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.attemptsLeft == 10 - number)
        }
        #expect(await refusal(of: "wrong 10", by: session)?.code == .wiped)
        #expect(await refusal(of: "correct horse", by: session)?.code == .wiped)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        #expect(await refusal { _ = try await made.tokens.list() }?.code == .wiped)
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }

    @Test("The ninth error warns that the next wrong passcode erases the vault")
    func beforeTheLastAttemptTheMessageSaysWhatTheNextDoes() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let session = try await home.open()
        for number in 1...9 {
            let message = await refusal(of: "wrong \(number)", by: session)?.message ?? ""
            #expect(
                message.contains("One attempt is left: the next wrong passcode erases this vault")
                    == (number == 9))
        }
    }

    @Test("From the fifth wrong passcode on, the delays double")
    func fromTheFifthFailureOnThereAreDelays() async throws {
        let home = try TestHome()
        let clock = TestClock()
        _ = try await home.create("correct horse", options: delaying, clock: clock.source)
        let session = try await home.open(clock: clock.source)
        for number in 1...5 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.code == .wrongPasscode)
        }
        for seconds in [1, 2, 4, 8] {
            let before = try home.read("attempts")
            // Also the right passcode has to wait, and waiting costs no attempt.
            let error = await refusal(of: "correct horse", by: session)
            #expect(error?.code == .attemptDelayed)
            #expect(error?.retryAfter == .seconds(seconds))
            #expect(try home.read("attempts") == before)
            clock.advance(by: .seconds(seconds) - .milliseconds(1))
            #expect(await refusal(of: "correct horse", by: session)?.code == .attemptDelayed)
            clock.advance(by: .milliseconds(1))
            #expect(await refusal(of: "wrong after \(seconds)", by: session)?.code == .wrongPasscode)
        }
        clock.advance(by: .seconds(16))
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(await refusal(of: "wrong again", by: session)?.attemptsLeft == 9)
    }

    @Test("A reboot starts the delay again from its beginning")
    func aRebootStartsTheDelayAnew() async throws {
        let home = try TestHome()
        let clock = TestClock()
        _ = try await home.create("correct horse", options: delaying, clock: clock.source)
        var session = try await home.open(clock: clock.source)
        for number in 1...8 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.code == .wrongPasscode)
            clock.advance(by: .seconds(60))
        }
        clock.reboot()
        session = try await home.open(clock: clock.source)
        #expect(await refusal(of: "correct horse", by: session)?.retryAfter == .seconds(8))
        clock.advance(by: .seconds(8))
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("A boot without an identifier shortens no delay")
    func aBootThatCannotBeToldShortensNoDelay() async throws {
        let home = try TestHome()
        let clock = TestClock()
        _ = try await home.create("correct horse", options: delaying, clock: clock.source)
        var session = try await home.open(clock: clock.source)
        for number in 1...8 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.code == .wrongPasscode)
            clock.advance(by: .seconds(60))
        }
        clock.advance(by: .seconds(-60))
        for source in [clock.withoutBoot, clock.source, clock.withoutBoot] {
            session = try await home.open(clock: source)
            #expect(await refusal(of: "correct horse", by: session)?.retryAfter == .seconds(8))
        }
        clock.advance(by: .seconds(8))
        #expect(await refusal(of: "wrong 9", by: session)?.attemptsLeft == 1)
        session = try await home.open(clock: clock.source)
        #expect(await refusal(of: "correct horse", by: session)?.retryAfter == .seconds(16))
        clock.advance(by: .seconds(16))
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("Setting the clock back does not shorten the delay")
    func settingTheClockBackDoesNotHelp() async throws {
        let home = try TestHome()
        let clock = TestClock()
        _ = try await home.create("correct horse", options: delaying, clock: clock.source)
        let session = try await home.open(clock: clock.source)
        for number in 1...8 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.code == .wrongPasscode)
            clock.advance(by: .seconds(10))
        }
        clock.advance(by: .seconds(-300))
        #expect(await refusal(of: "correct horse", by: session)?.retryAfter == .seconds(8))
        clock.advance(by: .seconds(7))
        #expect(await refusal(of: "correct horse", by: session)?.code == .attemptDelayed)
        clock.advance(by: .seconds(1))
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test(
        "The wall clock has no influence on the delay",
        arguments: [Duration.zero, .seconds(1_800_000_000 + 10 * 365 * 86_400)])
    func theClockOnTheWallHasNoSay(wall: Duration) async throws {
        let home = try TestHome()
        let clock = TestClock()
        _ = try await home.create("correct horse", options: delaying, clock: clock.source)
        let session = try await home.open(clock: clock.source)
        for number in 1...5 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.attemptsLeft == 10 - number)
        }
        clock.setWallClock(to: wall)
        #expect(await refusal(of: "correct horse", by: session)?.retryAfter == .seconds(1))
        clock.advance(by: .seconds(1))
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("A time namespace with a longer uptime does not shift our clock")
    func aTimeNamespaceShortensNoDelay() throws {
        let here = try #require(Helper([Agent.path, "clock", "-"])?.line().flatMap { Double($0) })
        let options = ["--user", "--map-root-user", "--time", "--boottime", "100000"]
        guard let shifted = Helper(["unshare"] + options + [Agent.path, "clock", "-"]) else {
            // This machine does not allow or does not support time namespaces.
            return
        }
        let there = try #require(shifted.line().flatMap { Double($0) })
        #expect((here...here + 1000).contains(there))
    }

    @Test("The clock reads the boot offset of a time namespace, or none from broken text")
    func offsetsOfTimeNamespaces() {
        let text = "monotonic          -7         1\nboottime      100000       500\n"
        #expect(Clock.bootOffset(in: text) == .seconds(100_000) + .nanoseconds(500))
        #expect(Clock.bootOffset(in: "boottime -3 0") == .seconds(-3))
        for text in ["", "boottime", "boottime x 0", "monotonic 1 2\n", "boottime 1 2 3"] {
            #expect(Clock.bootOffset(in: text) == nil, "\(text)")
        }
    }

    @Test("A missing or damaged counter refuses even the right passcode")
    func aCounterThatCannotBeReadRefuses() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let good = try home.read("attempts")
        let session = try await home.open()
        for damaged in [nil, [], Array(good.prefix(700)), [UInt8](repeating: 0, count: good.count)] {
            if let damaged { try home.write("attempts", damaged) } else { try home.remove("attempts") }
            #expect(await refusal(of: "correct horse", by: session)?.code == .corrupt)
            #expect(!session.isUnlocked)
        }
    }

    /// Run by a user whom permissions bind.
    @Test("A counter that cannot be written refuses every attempt")
    func aCounterThatCannotBeWrittenRefuses() async throws {
        let scratch = try ScratchDirectory.make()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: scratch.path.string)
        let ids = "--reuid=\(TestUser.nobody)"
        let user = TestUser.isRoot ? ["setpriv", ids, "--regid=\(TestUser.nobody)", "--clear-groups"] : []
        let agent = try #require(Helper(user + [Agent.path, "guess-read-only", scratch.path(of: "home")]))
        #expect(agent.line() == "permissionDenied")
        #expect(agent.line() == "permissionDenied")
        #expect(agent.line() == "closed")
    }

    @Test("The next attempt repairs one damaged slot of the counter")
    func oneDamagedSlotOfTheCounterIsRepaired() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let session = try await home.open()
        #expect(await refusal(of: "wrong", by: session)?.attemptsLeft == 9)
        for slot in 0..<2 {
            var bytes = try home.read("attempts")
            bytes[slot * 512 + 100] ^= 1
            try home.write("attempts", bytes)
            #expect(try await session.status().attemptsLeft == 9)
            #expect(await refusal(of: "wrong", by: session)?.attemptsLeft == 9)
        }
    }

    @Test("Sixteen concurrent attempts never get more than ten tries")
    func manyAtOnceNeverGetMoreThanTen() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let codes = await withTaskGroup(of: CofferError.Code?.self) { group in
            for number in 0..<16 {
                group.addTask {
                    await refusal {
                        let session = try await home.open()
                        try await session.unlock(with: Passcode(copying: "wrong \(number)"))
                    }?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .wrongPasscode } == 9)
        #expect(codes.count { $0 == .wiped } == 7)
    }
}
