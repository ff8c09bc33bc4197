import Coffer
import CofferBase
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("Passcodes")
struct PasscodeTests {
    /// The wrapped class keys as they lie in the keybag.
    private func wrappedKeys(_ home: TestHome) throws -> [[UInt8]] {
        try home.keybag().keys.values.map { Array($0.encoded.suffix(72)) }
    }

    @Test("Setting, changing and removing a passcode replaces every wrapped key")
    func settingChangingAndRemoving() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var old = try wrappedKeys(home)
        let steps: [(current: String?, new: String?)] = [
            (nil, "first one"), ("first one", "second one"), ("second one", nil), (nil, "third one"),
        ]
        for step in steps {
            let passcode = try step.new.map { try Passcode(copying: $0) }
            try await session.changePasscode(
                to: passcode, current: step.current.map { try Passcode(copying: $0) })
            let keybag = try home.read("keybag")
            for key in old { #expect(!keybag.contains(key), "an old wrapped key is still there") }
            old = try wrappedKeys(home)
            for key in old { #expect(keybag.contains(key)) }
            let opened = try await home.unlocked(step.new)
            #expect(opened.isUnlocked)
            if let current = step.current, step.new != nil {
                #expect(await refusal(of: current, by: opened)?.code == .wrongPasscode)
            }
            let status = try await opened.status()
            #expect(status.hasPasscode == (step.new != nil))
        }
    }

    @Test("A token stays readable after the passcode changes")
    func whatWasStoredStaysReadable() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        let id = try TokenID(service: "api.example.org", account: "ada")
        try await session.tokens.put(Token(copying: "value"), for: id)
        try await session.changePasscode(
            to: Passcode(copying: "second one"), current: Passcode(copying: "first one"))
        let opened = try await home.unlocked("second one")
        let count = try await opened.tokens.withToken(for: id) { token, _ in token.count }
        #expect(count == 5)
    }

    @Test("Changing the passcode requires the current one")
    func changingNeedsTheCurrentOne() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        let before = try home.read("keybag")
        let wrong = await refusal {
            try await session.changePasscode(to: Passcode(copying: "x"), current: Passcode(copying: "wrong"))
        }
        #expect(wrong?.code == .wrongPasscode)
        #expect(wrong?.attemptsLeft == 9)
        #expect(await refusal { try await session.changePasscode(to: nil, current: nil) }?.code == .locked)
        #expect(try home.read("keybag") == before)
    }

    @Test("An empty passcode is invalid")
    func anEmptyPasscodeIsNone() throws {
        #expect(failure { _ = try Passcode(copying: "") } == .invalidInput)
    }

    @Test("Passcodes compare byte for byte, without normalisation")
    func passcodesAreBytes() async throws {
        let home = try TestHome()
        let session = try await home.create("\u{e9}\0\n")
        #expect(await refusal(of: "e\u{301}\0\n", by: session)?.code == .wrongPasscode)
        #expect(await refusal(of: "\u{e9}", by: session)?.code == .wrongPasscode)
        try await session.unlock(with: Passcode(copying: "\u{e9}\0\n"))
    }

    @Test("A vault without a passcode unlocks with any passcode")
    func withoutAPasscodeAnyIsTaken() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let session = try await home.unlocked("whatever")
        #expect(session.isUnlocked)
        #expect(try await session.status().attemptsLeft == nil)
    }

    @Test(
        "Each policy accepts matching passcodes and refuses others",
        arguments: [
            (PasscodePolicy.digits, ["1234", "12345678"], ["123", "123456789", "12a4", "１２３４", "1234\n"]),
            (.alphanumeric, ["abcd1", "1é!!!!a"], ["abcde", "12345", "ab1", "a1"]),
            (.none, ["x"], []),
        ])
    func policies(policy: PasscodePolicy, good: [String], bad: [String]) async throws {
        for text in good { try policy.check(Passcode(copying: text)) }
        for text in bad {
            let code = failure { try policy.check(Passcode(copying: text)) }
            #expect(code == .refused, "\(text)")
        }
    }

    @Test("The policy applies at creation and at every change")
    func thePolicyHoldsWhenMadeAndWhenChanged() async throws {
        let home = try TestHome()
        let options = TestHome.options { $0.policy = .digits }
        #expect(await refusal { _ = try await home.create("abc", options: options) }?.code == .refused)
        #expect(!FileManager.default.fileExists(atPath: home.location.path.string))
        let session = try await home.create("1234", options: options)
        session.lock()
        #expect(try await session.passcodePolicy() == .digits)
        let before = try home.read("keybag")
        let error = await refusal {
            try await session.changePasscode(to: Passcode(copying: "abc"), current: Passcode(copying: "1234"))
        }
        #expect(error?.code == .refused)
        #expect(try home.read("keybag") == before)
        _ = try await home.unlocked("1234")
    }

    @Test("Changing the passcode keeps the derivation cost")
    func theCostStays() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        try await session.changePasscode(
            to: Passcode(copying: "second one"), current: Passcode(copying: "first one"))
        #expect(try home.keybag().passcode?.cost == .floor)
    }

    @Test("The home keeps the whole policy and applies it at every change")
    func theHomeKeepsIt() async throws {
        let home = try TestHome()
        let policy = try PasscodePolicy.strictest(of: [
            .alphanumeric, .minimumLength(7), .rejectingCommon,
            .withDenylist((0..<255).map { "denied number \($0)" }),
        ])
        _ = try await home.create("first 1", options: TestHome.options { $0.policy = policy })
        let session = try await home.unlocked("first 1")
        #expect(try home.keybag().policy == policy)
        for text in ["short1", "without a digit", "password123", "denied number 7", "Denied Number 254"] {
            let error = await refusal {
                try await session.changePasscode(
                    to: Passcode(copying: text), current: Passcode(copying: "first 1"))
            }
            #expect(error?.code == .refused, "\(text)")
        }
        try await session.changePasscode(
            to: Passcode(copying: "second 2"), current: Passcode(copying: "first 1"))
        _ = try await home.unlocked("second 2")
        #expect(try home.keybag().policy == policy)
    }

    @Test("The vault estimates how long guessing its passcode takes")
    func howLongGuessingTakes() async throws {
        let home = try TestHome()
        let session = try await home.create("837165", options: TestHome.options { $0.policy = .digits })
        let strength = try #require(try await session.passcodeStrength())
        #expect(strength.secondsPerGuess > 0)
        #expect(
            strength.estimates.map(\.passcodes) == ["all of 4 digits", "all of 6 digits", "all of 8 digits"])
        #expect(strength.estimates.map(\.count) == [1e4, 1e6, 1e8])
        for estimate in strength.estimates {
            #expect(estimate.seconds == estimate.count * strength.secondsPerGuess)
        }
        let without = try TestHome()
        #expect(try await without.create().passcodeStrength() == nil)
    }
}
