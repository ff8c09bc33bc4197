import CofferBase
import CofferCrypto
import CofferVault
import Foundation
import TestSupport
import Testing

@Suite("Passcode policies")
struct PasscodePolicyTests {
    private func isTaken(_ text: String, by policy: PasscodePolicy) throws -> Bool {
        let passcode = try Passcode(copying: text)
        let code = failure { try policy.check(passcode) }
        #expect(code == nil || code == .refused)
        return code == nil
    }

    @Test("A minimum length refuses shorter passcodes, and is itself checked")
    func aLeastLength() throws {
        let policy = try PasscodePolicy.minimumLength(12)
        #expect(try isTaken("twelve bytes", by: policy))
        #expect(try !isTaken("eleven byte", by: policy))
        for length in [0, -1, 129] {
            #expect(failure { _ = try PasscodePolicy.minimumLength(length) } == .invalidInput)
        }
    }

    /// A character is what a reader takes for one, however many bytes it has and however it is composed.
    @Test("The policy counts characters as a reader sees them")
    func charactersAreCounted() throws {
        let texts = [
            "a", "\u{e9}", "e\u{301}", "ööö12", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "🇩🇪🇫🇷", "\r\n", "한국어", "\u{1112}\u{1161}\u{11ab}", "नमस्ते", "x\u{0}y", "\u{10ffff}",
            "1\u{fe0f}\u{20e3}", "correct horse", "",
        ]
        for text in texts {
            let bytes = Array(text.utf8)
            #expect(PasscodeCharacters(bytes.span).count == text.count, "\(text)")
        }
    }

    @Test(
        "Each invalid UTF-8 part counts as one character, neither letter nor digit",
        arguments: [
            ([0xff], 1, 0, 0), ([0x61, 0xff, 0x31], 3, 1, 1), ([0xff, 0xfe, 0x80], 3, 0, 0),
            ([0xe2, 0x82], 1, 0, 0), ([0xe2, 0x82, 0x61], 2, 1, 0), ([0xc3, 0xb6, 0xc3], 2, 1, 0),
            ([0xed, 0xa0, 0x80], 3, 0, 0), ([0xf0, 0x9f, 0x98, 0x80, 0xf0, 0x9f], 2, 0, 0),
            ([0xc0, 0x80], 2, 0, 0), ([0xff, 0xcc, 0x81], 2, 0, 0), ([0xf5, 0x31], 2, 0, 1),
        ] as [([UInt8], Int, Int, Int)])
    func whatIsNoTextIsCountedToo(bytes: [UInt8], count: Int, letters: Int, digits: Int) {
        let found = PasscodeCharacters(bytes.span)
        #expect(found.count == count && found.letters == letters && found.digits == digits)
        #expect(!found.isOfKeypad)
    }

    @Test("Letters and digits may come from any script, but a keypad has ten digits")
    func lettersAndDigitsAreThoseOfAnyScript() throws {
        for text in ["ööö12", "пароль7", "密碼密碼1", "abc٣٤", "e\u{301}e\u{301}e\u{301}12"] {
            #expect(try isTaken(text, by: .alphanumeric), "\(text)")
        }
        // Marks and emoji are no letters, a fraction is no digit, and four characters are too few.
        for text in ["😀😀😀12", "abcd½", "öö12", "e\u{301}e\u{301}12", "ööööö"] {
            #expect(try !isTaken(text, by: .alphanumeric), "\(text)")
        }
        // A keypad has ten digits.
        for text in ["１２３４", "٣٤٥٦", "1\u{fe0f}\u{20e3}234"] {
            #expect(try !isTaken(text, by: .digits), "\(text)")
        }
        let policy = try PasscodePolicy.minimumLength(6)
        #expect(try !isTaken("öäü", by: policy) && isTaken("öäüöäü", by: policy))
        #expect(try !isTaken("👨‍👩‍👧👨‍👩‍👧", by: policy))
    }

    @Test("The policy refuses repetitions and sequences in any script")
    func whatIsGuessedFirstInAnyScript() throws {
        for text in ["ööö", "e\u{301}e\u{301}", "👨‍👩‍👧👨‍👩‍👧", "абвг", "гвба", "٣٤٥٦", "é"] {
            #expect(try !isTaken(text, by: .rejectingCommon), "\(text)")
        }
        for text in ["öäö", "éü", "авбг"] {
            #expect(try isTaken(text, by: .rejectingCommon), "\(text)")
        }
    }

    @Test("The policy refuses common passcodes, repetitions and sequences")
    func whatIsGuessedFirst() throws {
        let bad = [
            "0000", "11111111", "1234", "4321", "12345678", "7890", "0987", "abcdef", "fedcba", "2580",
            "password",
            "PassWord1", "Qwerty123", "zzzzzz", "x",
        ]
        for text in bad { #expect(try !isTaken(text, by: .rejectingCommon), "\(text)") }
        for text in ["2468", "1243", "8317", "correct horse", "passwords are weak"] {
            #expect(try isTaken(text, by: .rejectingCommon), "\(text)")
        }
    }

    @Test("A denylist refuses its entries in any case, and has at most 256")
    func denied() throws {
        let policy = try PasscodePolicy.withDenylist(["Coffee", "2468", ""])
        for text in ["Coffee", "coffee", "COFFEE", "2468"] { #expect(try !isTaken(text, by: policy)) }
        for text in ["coffees", "24680", "coffe"] { #expect(try isTaken(text, by: policy)) }
        #expect(try PasscodePolicy.withDenylist((0..<256).map { "\($0)" }).denylist.count == 256)
        #expect(failure { _ = try PasscodePolicy.withDenylist((0..<257).map { "\($0)" }) } == .invalidInput)
    }

    @Test("The strictest of several policies combines all their demands")
    func ofSeveralTheStrictest() throws {
        let policy = try PasscodePolicy.strictest(of: [
            .digits, .minimumLength(6), .rejectingCommon, .withDenylist(["246813"]), .none,
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
            failure { _ = try PasscodePolicy.strictest(of: [.withDenylist(half), .withDenylist(other)]) }
                == .invalidInput)
    }

    @Test("A shorter keybag of an earlier release keeps its character policy")
    func aShorterKeybagHasThePolicyOfItsCharacters() throws {
        let vault = try VaultOnDisk(passcode: "1234", policy: .digits)
        // The tag of the passcode comes after it.
        let encoded = Array(try vault.keybag().encoded.dropLast(32))
        #expect(try Keybag.record.decode(encoded).passcodeTag == nil)
        #expect(try Keybag.record.decode(Array(encoded.dropLast(4))).policy == .digits)
        for damage in [[0, 0, 0, 0], [200, 0, 0, 0], [4, 2, 0, 0], [4, 0, 2, 0], [4, 0, 0, 1]] {
            let bytes = Array(encoded.dropLast(4)) + damage.map { UInt8($0) }
            #expect(failure { _ = try Keybag.record.decode(bytes) } == .corrupt, "\(damage)")
        }
    }

    @Test("A policy states its requirement in words")
    func requirement() {
        #expect(PasscodePolicy.none.requirement == "at least 1 character")
        #expect(PasscodePolicy(.any, minimumLength: 2).requirement == "at least 2 characters")
        #expect(PasscodePolicy.digits.requirement == "4 to 8 digits")
        #expect(PasscodePolicy(.digits, minimumLength: 9).requirement == "9 digits")
    }
}
