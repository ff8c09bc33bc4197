import Coffer
import CofferBase
import CofferTesting
import TestSupport
import Testing

@Suite("Vaults that wrong passcodes do not erase")
struct NeverErasingTests {
    private let never = TestHome.options { $0.erasesAfterTenFailures = false }

    private func expectWrong(_ numbers: ClosedRange<Int>, by session: Vault) async throws {
        for number in numbers {
            let error = await refusal(of: "wrong \(number)", by: session)
            #expect(error?.code == .wrongPasscode && error?.attemptsLeft == nil, "\(number)")
            #expect(error?.message.contains("never erase") == true, "\(error?.message ?? "")")
        }
    }

    @Test("The 10th and the 30th wrong passcode erase nothing, and the right one opens and resets")
    func erasesNothing() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse", options: never)
        let id = try TokenID(service: "s", account: "a")
        try await made.tokens.put(Token(copying: "secret"), for: id)
        let session = try await home.open()
        try await expectWrong(1...10, by: session)
        #expect(try home.attempts().failures == 10)
        #expect(try await session.status().attemptsLeft == nil)
        try await expectWrong(11...30, by: try await home.open())
        #expect(try home.attempts().failures == 30)
        let opened = try await home.unlocked("correct horse")
        #expect(try await opened.tokens.get(id)?.token.exposingString { $0 } == "secret")
        #expect(try home.attempts().failures == 0)
        // The same mistake again is still one.
        for _ in 1...3 { #expect(await refusal(of: "again", by: session)?.code == .wrongPasscode) }
        #expect(try home.attempts().failures == 1)
    }

    @Test("Delays double up to an hour, stay there, and also hold for the right passcode")
    func delays() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options {
            $0.erasesAfterTenFailures = false
            $0.delaysAttempts = true
        }
        _ = try await home.create("correct horse", options: options, clock: clock.source)
        let session = try await home.open(clock: clock.source)
        for number in 1...30 {
            try await expectWrong(number...number, by: session)
            guard number >= 5 else { continue }
            let delay = Duration.seconds(min(1 << (number - 5), 3600))
            let before = try home.read("attempts")
            let error = await refusal(of: "correct horse", by: session)
            #expect(error?.code == .attemptDelayed && error?.retryAfter == delay, "\(number)")
            #expect(error?.attemptsLeft == nil)
            clock.advance(by: delay - .milliseconds(1))
            #expect(await refusal(of: "correct horse", by: session)?.code == .attemptDelayed)
            #expect(try home.read("attempts") == before)
            clock.advance(by: .milliseconds(1))
        }
        clock.reboot()
        let later = try await home.open(clock: clock.source)
        #expect(await refusal(of: "correct horse", by: later)?.retryAfter == .seconds(3600))
        clock.advance(by: .seconds(3600))
        try await later.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("A missing or damaged counter refuses even the right passcode")
    func counterThatCannotBeRead() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse", options: never)
        let session = try await home.open()
        try await expectWrong(1...12, by: session)
        let good = try home.read("attempts")
        for damaged in [nil, [], Array(good.prefix(700)), [UInt8](repeating: 0, count: good.count)] {
            if let damaged { try home.write("attempts", damaged) } else { try home.remove("attempts") }
            #expect(await refusal(of: "correct horse", by: session)?.code == .corrupt)
            #expect(await refusal { _ = try await session.status() }?.code == .corrupt)
            let change = await refusal {
                try await session.changeSettings { $0.erasesAfterTenFailures = true }
            }
            #expect(change?.code == .corrupt)
        }
        try home.write("attempts", good)
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    @Test("The count stays at the highest number that the record can hold")
    func highestCount() throws {
        let full = AttemptRecord(failures: Int(UInt32.max))
        let counted = full.counting([UInt8](repeating: 7, count: 32))
        #expect(counted.failures == Int(UInt32.max) && counted.isPending)
        #expect(try AttemptRecord.record.decode(counted.encoded) == counted)
        #expect(AttemptRecord.delay(after: counted.failures) == AttemptRecord.maxDelay)
    }

    @Test("To stop the erasure needs the passcode, also while the vault is unlocked")
    func loosening() async throws {
        let home = try TestHome()
        let vault = try await home.create("correct horse")
        let record = try home.read("keybag")
        for passcode in [nil, "wrong"] {
            let error = await refusal {
                try await vault.changeSettings(passcode: passcode.map { try Passcode(copying: $0) }) {
                    $0.erasesAfterTenFailures = false
                }
            }
            #expect(error?.code == (passcode == nil ? .locked : .wrongPasscode))
            #expect(error?.attemptsLeft == (passcode == nil ? nil : 9))
            #expect(try home.read("keybag") == record)
        }
        try await vault.changeSettings(passcode: Passcode(copying: "correct horse")) {
            $0.erasesAfterTenFailures = false
        }
        #expect(try await !home.open().settings().erasesAfterTenFailures)
        try await expectWrong(1...12, by: try await home.open())
        _ = try await home.unlocked("correct horse")
    }

    @Test("To erase again needs no passcode, and the count goes on")
    func tightening() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse", options: never)
        let session = try await home.open()
        try await expectWrong(1...9, by: session)
        try await session.changeSettings { $0.erasesAfterTenFailures = true }
        #expect(try await session.status().attemptsLeft == 1)
        #expect(try await session.status().erasesAfterTenFailures)
        #expect(await refusal(of: "wrong 10", by: session)?.code == .wiped)
    }

    @Test("With ten wrong passcodes counted, to erase again needs the passcode, and erases nothing")
    func tighteningWithAFullCount() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse", options: never)
        let session = try await home.open()
        try await expectWrong(1...10, by: session)
        let record = try home.read("keybag")
        let none = await refusal {
            try await session.changeSettings { $0.erasesAfterTenFailures = true }
        }
        #expect(none?.code == .locked && none?.message.contains("ten wrong passcodes") == true)
        let wrong = await refusal {
            try await session.changeSettings(passcode: Passcode(copying: "wrong 11")) {
                $0.erasesAfterTenFailures = true
            }
        }
        #expect(wrong?.code == .wrongPasscode)
        #expect(try home.read("keybag") == record && home.attempts().failures == 11)
        // Another setting is tightened as ever.
        try await session.changeSettings { $0.inactivity = .seconds(60) }
        try await session.changeSettings(passcode: Passcode(copying: "correct horse")) {
            $0.erasesAfterTenFailures = true
        }
        #expect(try await session.status().attemptsLeft == 10)
        for number in 1...9 {
            #expect(await refusal(of: "wrong \(number)", by: session)?.attemptsLeft == 10 - number)
        }
        #expect(await refusal(of: "wrong 10", by: session)?.code == .wiped)
    }

    @Test("The choice of a vault without a passcode holds for the passcode that is set later")
    func passcodeSetLater() async throws {
        let home = try TestHome()
        let vault = try await home.create(options: never)
        #expect(try await !vault.status().erasesAfterTenFailures)
        try await vault.changePasscode(to: Passcode(copying: "correct horse"), current: nil)
        try await expectWrong(1...12, by: try await home.open())
        try await vault.changePasscode(
            to: Passcode(copying: "battery staple"), current: Passcode(copying: "correct horse"))
        try await expectWrong(1...12, by: try await home.open())
        _ = try await home.unlocked("battery staple")
    }

    @Test("The security checks say that wrong passcodes never erase the vault")
    func securityCheck() async throws {
        let home = try TestHome()
        let vault = try await home.create("correct horse", options: never)
        let check = try await vault.securityChecks().first { $0.name == "attempts" }
        #expect(check?.status == .advisory && check?.message.contains("never erase") == true)
    }
}
