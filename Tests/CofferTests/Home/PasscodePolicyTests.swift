@testable import Coffer
import CofferBase
import Foundation
import TestSupport
import Testing

@Suite struct PasscodePolicyTests {
    private func isTaken(_ text: String, by policy: PasscodePolicy) throws -> Bool {
        let passcode = try Passcode(copying: text)
        let code = failure { try policy.check(passcode) }
        #expect(code == nil || code == .refused)
        return code == nil
    }

    @Test func aLeastLength() throws {
        let policy = try PasscodePolicy.minimumLength(12)
        #expect(try isTaken("twelve bytes", by: policy))
        #expect(try !isTaken("eleven byte", by: policy))
        for length in [0, -1, 129] {
            #expect(failure { _ = try PasscodePolicy.minimumLength(length) } == .invalidInput)
        }
    }

    @Test func whatIsGuessedFirst() throws {
        let bad = [
            "0000", "11111111", "1234", "4321", "12345678", "7890", "0987", "abcdef", "fedcba", "2580",
            "password",
            "PassWord1", "Qwerty123", "zzzzzz", "x",
        ]
        for text in bad { #expect(try !isTaken(text, by: .denyingCommon), "\(text)") }
        for text in ["2468", "1243", "8317", "correct horse", "passwords are weak"] {
            #expect(try isTaken(text, by: .denyingCommon), "\(text)")
        }
    }

    @Test func denied() throws {
        let policy = try PasscodePolicy.denying(["Coffee", "2468", ""])
        for text in ["Coffee", "coffee", "COFFEE", "2468"] { #expect(try !isTaken(text, by: policy)) }
        for text in ["coffees", "24680", "coffe"] { #expect(try isTaken(text, by: policy)) }
        #expect(try PasscodePolicy.denying((0..<256).map { "\($0)" }).denied.count == 256)
        #expect(failure { _ = try PasscodePolicy.denying((0..<257).map { "\($0)" }) } == .invalidInput)
    }

    @Test func ofSeveralTheStrictest() throws {
        let policy = try PasscodePolicy.strictest(of: [
            .digits, .minimumLength(6), .denyingCommon, .denying(["246813"]), .none,
        ])
        #expect(policy.characters == .digits && policy.minimumLength == 6 && policy.maximumLength == 8)
        #expect(try isTaken("837165", by: policy))
        for text in ["83716", "837165294", "83716a", "123456", "246813"] {
            #expect(try !isTaken(text, by: policy), "\(text)")
        }
        // Digits asked for and letters too: both.
        let both = try PasscodePolicy.strictest(of: [.digits, .alphanumeric, .minimumLength(9)])
        #expect(both.characters == .lettersAndDigits && both.maximumLength == nil)
        #expect(try isTaken("nine1char", by: both) && !isTaken("837165294", by: both))
        // More digits than a keypad takes by itself.
        let long = try PasscodePolicy.strictest(of: [.digits, .minimumLength(10)])
        #expect(try isTaken("8371652940", by: long) && !isTaken("83716529401", by: long))
        #expect(try PasscodePolicy.strictest(of: []) == .none)
        let half = (0..<200).map { "\($0)" }
        let other = (200..<400).map { "\($0)" }
        #expect(
            failure { _ = try PasscodePolicy.strictest(of: [.denying(half), .denying(other)]) }
                == .invalidInput)
    }

    /// All of it is kept with the home and holds at every change.
    @Test func theHomeKeepsIt() async throws {
        let home = try TestHome()
        let policy = try PasscodePolicy.strictest(of: [
            .alphanumeric, .minimumLength(7), .denyingCommon,
            .denying((0..<255).map { "denied number \($0)" }),
        ])
        _ = try await home.create("first 1", options: TestHome.options { $0.policy = policy })
        let session = try await home.unlocked("first 1")
        #expect(try session.core.readKeybag().policy == policy)
        for text in ["short1", "without a digit", "password123", "denied number 7", "Denied Number 254"] {
            let error = await refusal {
                try await session.changePasscode(
                    to: Passcode(copying: text), current: Passcode(copying: "first 1"))
            }
            #expect(error?.code == .refused, "\(text)")
        }
        try await session.changePasscode(
            to: Passcode(copying: "second 2"), current: Passcode(copying: "first 1"))
        #expect(try await home.unlocked("second 2").core.readKeybag().policy == policy)
    }

    /// What an earlier release wrote ends before the rest of the policy.
    @Test func aShorterKeybagHasThePolicyOfItsCharacters() async throws {
        let home = try TestHome()
        let session = try await home.create("1234", options: TestHome.options { $0.policy = .digits })
        let encoded = try session.core.readKeybag().encoded
        #expect(try Keybag.decode(Array(encoded.dropLast(4))).policy == .digits)
        for damage in [[0, 0, 0, 0], [200, 0, 0, 0], [4, 2, 0, 0], [4, 0, 2, 0], [4, 0, 0, 1]] {
            let bytes = Array(encoded.dropLast(4)) + damage.map { UInt8($0) }
            #expect(failure { _ = try Keybag.decode(bytes) } == .corrupt, "\(damage)")
        }
    }

    @Test func howLongGuessingTakes() async throws {
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
