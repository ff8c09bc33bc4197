public import CofferBase
import CofferCrypto

/// What a new passcode must look like: a value that is kept with the home and holds whenever a passcode is
/// set or changed.
///
/// Characters are counted as a reader counts them: extended grapheme clusters of Unicode, so that "é" is one
/// however it is composed, and so is a family of emoji. What is no UTF-8 counts as one for each part. Letters
/// and digits are those of any script; a keypad's digits are 0 to 9.
///
/// ```swift
/// options.policy = .strictest(of: [.digits, .minimumLength(6), .rejectingCommon])
/// ```
public struct PasscodePolicy: Sendable, Hashable {
    /// Which characters a passcode is made of, the laxest first.
    public enum Characters: UInt8, Sendable, CaseIterable {
        /// Any.
        case any = 0
        /// The digits 0 to 9 and nothing else: a numeric keypad.
        case digits = 1
        /// A letter and a digit at least, of any script.
        case lettersAndDigits = 2
    }

    /// The longest that a policy asks for.
    static let maxMinimumLength = 128
    private static let maxDigitLength = 8

    /// What passcodes are made of.
    public let characters: Characters
    /// The least number of characters.
    public let minimumLength: Int
    /// Whether those that are guessed first are refused: one character repeated, digits or letters in order,
    /// and a short list.
    public let rejectsCommon: Bool
    /// Tags of passcodes that are refused.
    let denylist: Set<PasscodeDenylist.Tag>

    init(
        _ characters: Characters, minimumLength: Int, rejectsCommon: Bool = false,
        denylist: Set<PasscodeDenylist.Tag> = []
    ) {
        self.characters = characters
        self.minimumLength = minimumLength
        self.rejectsCommon = rejectsCommon
        self.denylist = denylist
    }

    /// The most characters; `nil` for no limit. 8 for digits, unless more are asked for.
    public var maximumLength: Int? {
        characters == .digits ? max(Self.maxDigitLength, minimumLength) : nil
    }

    /// Anything that is not empty.
    public static let none = PasscodePolicy(.any, minimumLength: 1)
    /// 4 to 8 digits.
    public static let digits = PasscodePolicy(.digits, minimumLength: 4)
    /// At least 5 characters with a letter and a digit among them.
    public static let alphanumeric = PasscodePolicy(.lettersAndDigits, minimumLength: 5)
    /// Anything but what is guessed first.
    public static let rejectingCommon = PasscodePolicy(.any, minimumLength: 1, rejectsCommon: true)

    /// At least so many characters.
    ///
    /// - Throws: `invalidInput` outside of 1 to 128.
    public static func minimumLength(_ length: Int) throws(CofferError) -> PasscodePolicy {
        guard (1...maxMinimumLength).contains(length) else {
            throw CofferError(.invalidInput, "A least length is 1 to \(maxMinimumLength).")
        }
        return PasscodePolicy(.any, minimumLength: length)
    }

    /// Anything but these, with ASCII letters in upper or lower case. The home keeps tags of them, not the
    /// words.
    ///
    /// - Throws: `invalidInput` for more than 256.
    public static func withDenylist(_ passcodes: [String]) throws(CofferError) -> PasscodePolicy {
        PasscodePolicy(.any, minimumLength: 1, denylist: try PasscodeDenylist.tags(of: passcodes))
    }

    /// What satisfies every one of several: of each rule the strictest. Digits with a letter asked for beside
    /// them are letters and digits.
    ///
    /// - Throws: `invalidInput` when more than 256 passcodes are denied.
    public static func strictest(of policies: [PasscodePolicy]) throws(CofferError) -> PasscodePolicy {
        var characters = Characters.any
        for policy in policies where policy.characters.rawValue > characters.rawValue {
            characters = policy.characters
        }
        let denied = policies.reduce(into: Set()) { $0.formUnion($1.denylist) }
        try PasscodeDenylist.check(denied)
        return PasscodePolicy(
            characters, minimumLength: policies.map(\.minimumLength).max() ?? 1,
            rejectsCommon: policies.contains { $0.rejectsCommon }, denylist: denied)
    }

    /// Checks a new passcode.
    ///
    /// - Throws: `refused` with what is asked for.
    public func check(_ passcode: Passcode) throws(CofferError) {
        let isFit = passcode.secret.exposing { bytes in
            let found = PasscodeCharacters(bytes)
            guard (minimumLength...(maximumLength ?? .max)).contains(found.count) else { return false }
            return switch characters {
            case .any: true
            case .digits: found.isOfKeypad
            case .lettersAndDigits: found.digits > 0 && found.letters > 0
            }
        }
        guard isFit else {
            throw CofferError(.refused, "The policy of this home asks for \(requirement).")
        }
        let isDenied = try passcode.secret.exposing { (bytes) throws(CofferError) -> Bool in
            if rejectsCommon, try PasscodeDenylist.isCommon(bytes) { return true }
            guard !denylist.isEmpty else { return false }
            return denylist.contains(try PasscodeDenylist.tag(of: bytes))
        }
        guard !isDenied else {
            throw CofferError(
                .refused, "The policy of this home refuses this passcode: it is among those guessed first.")
        }
    }

    /// What is asked for, in words.
    public var requirement: String {
        let most = maximumLength ?? minimumLength
        return switch characters {
        case .any: "at least \(minimumLength) \(minimumLength == 1 ? "character" : "characters")"
        case .digits: most > minimumLength ? "\(minimumLength) to \(most) digits" : "\(most) digits"
        case .lettersAndDigits: "at least \(minimumLength) characters with letters and digits"
        }
    }
}
