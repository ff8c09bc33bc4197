public import CofferBase
import CofferCrypto

/// The requirements for a new passcode. The policy is stored in the vault and applies whenever a passcode is
/// set or changed.
///
/// Characters are Unicode extended grapheme clusters, as a reader counts them: "é" is one character in any
/// Unicode form, and so is a family emoji. Each invalid part of the UTF-8 counts as one character. Letters
/// and digits may be from any script; the digits on a keypad are 0 to 9.
///
/// ```swift
/// options.policy = .strictest(of: [.digits, .minimumLength(6), .rejectingCommon])
/// ```
public struct PasscodePolicy: Sendable, Hashable {
    /// A rule for the characters of a passcode. The cases are ordered from the least to the most strict.
    public enum Characters: UInt8, Sendable, CaseIterable {
        /// Any characters.
        case any = 0
        /// Only the digits 0 to 9, as on a numeric keypad; see ``PasscodePolicy/maximumLength``.
        case digits = 1
        /// At least one letter and at least one digit, from any script; other characters are allowed.
        case lettersAndDigits = 2
    }

    /// The greatest minimum length that a policy may have.
    package static let maxMinimumLength = 128
    private static let maxDigitLength = 8

    /// The rule for the characters of a passcode.
    public let characters: Characters
    /// The minimum number of characters.
    public let minimumLength: Int
    /// Whether the policy refuses passcodes that attackers guess first: a single repeated character, an
    /// ascending or descending run, or an entry in a short built-in list.
    public let rejectsCommon: Bool
    /// The tags of the passcodes that the policy refuses.
    package let denylist: Set<PasscodeDenylist.Tag>

    /// The number of passcodes on the denylist.
    public var denylistCount: Int { denylist.count }

    package init(
        _ characters: Characters, minimumLength: Int, rejectsCommon: Bool = false,
        denylist: Set<PasscodeDenylist.Tag> = []
    ) {
        self.characters = characters
        self.minimumLength = minimumLength
        self.rejectsCommon = rejectsCommon
        self.denylist = denylist
    }

    /// The maximum number of characters: for ``Characters/digits``, 8 or `minimumLength`, whichever is
    /// greater; otherwise `nil` for no limit.
    public var maximumLength: Int? {
        characters == .digits ? max(Self.maxDigitLength, minimumLength) : nil
    }

    /// A policy that accepts any passcode that is not empty.
    public static let none = PasscodePolicy(.any, minimumLength: 1)
    /// 4 to 8 digits; with a ``minimumLength(_:)`` above 8, exactly that many.
    public static let digits = PasscodePolicy(.digits, minimumLength: 4)
    /// A policy that requires at least 5 characters, including at least one letter and one digit.
    public static let alphanumeric = PasscodePolicy(.lettersAndDigits, minimumLength: 5)
    /// A policy that accepts any passcode except those that attackers guess first.
    public static let rejectingCommon = PasscodePolicy(.any, minimumLength: 1, rejectsCommon: true)

    /// Returns a policy that requires at least `length` characters.
    ///
    /// - Throws: `invalidInput` unless `length` is 1 to 128.
    public static func minimumLength(_ length: Int) throws(CofferError) -> PasscodePolicy {
        guard (1...maxMinimumLength).contains(length) else {
            throw CofferError(.invalidInput, "The minimum passcode length must be 1 to \(maxMinimumLength).")
        }
        return PasscodePolicy(.any, minimumLength: length)
    }

    /// Returns a policy that refuses these passcodes, regardless of the case of ASCII letters. The vault
    /// stores tags of the passcodes, not their text.
    ///
    /// - Throws: `invalidInput` if there are more than 256 different passcodes.
    public static func withDenylist(_ passcodes: [String]) throws(CofferError) -> PasscodePolicy {
        PasscodePolicy(.any, minimumLength: 1, denylist: try PasscodeDenylist.tags(of: passcodes))
    }

    /// Returns a policy that combines the requirements of `policies`. If some of them require
    /// ``Characters/digits`` and others ``Characters/lettersAndDigits``, the combined policy requires the
    /// latter.
    ///
    /// - Throws: `invalidInput` if the denylists together have more than 256 passcodes.
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

    /// Returns whether `other` requires anything that this policy does not: a stricter rule for characters, a
    /// greater minimum length, or the refusal of common passcodes or of a passcode on `other`'s denylist.
    ///
    /// - Parameter other: The policy to compare with.
    /// - Returns: Whether this policy requires less in any respect.
    public func isLooser(than other: PasscodePolicy) -> Bool {
        characters.rawValue < other.characters.rawValue || minimumLength < other.minimumLength
            || !rejectsCommon && other.rejectsCommon || !denylist.isSuperset(of: other.denylist)
    }

    /// Returns a copy of the policy with the given parts replaced.
    ///
    /// - Parameters:
    ///   - characters: The new rule for characters; `nil` keeps the current rule. If `minimumLength` is
    ///     `nil`, the minimum length is also raised to that of ``digits`` or ``alphanumeric`` if necessary.
    ///   - minimumLength: The new minimum number of characters; `nil` keeps the current minimum.
    ///   - rejectsCommon: Whether the policy refuses passcodes that attackers guess first; `nil` keeps the
    ///     current setting.
    ///   - denied: The new denylist, with at most 256 passcodes; `nil` keeps the current denylist.
    /// - Returns: The new policy.
    /// - Throws: `invalidInput` if `minimumLength` is not in the range 1 to 128, or if `denied` contains more
    ///   than 256 distinct passcodes.
    public func replacing(
        characters: Characters? = nil, minimumLength: Int? = nil, rejectsCommon: Bool? = nil,
        denying denied: [String]? = nil
    ) throws(CofferError) -> PasscodePolicy {
        var length = self.minimumLength
        switch characters {
        case .digits: length = max(length, Self.digits.minimumLength)
        case .lettersAndDigits: length = max(length, Self.alphanumeric.minimumLength)
        case .any, nil: break
        }
        if let minimumLength { length = try Self.minimumLength(minimumLength).minimumLength }
        var denylist = denylist
        if let denied { denylist = try PasscodeDenylist.tags(of: denied) }
        return PasscodePolicy(
            characters ?? self.characters, minimumLength: length,
            rejectsCommon: rejectsCommon ?? self.rejectsCommon, denylist: denylist)
    }

    /// Checks whether a new passcode meets the policy.
    ///
    /// - Throws: `refused` if the passcode does not meet the policy; the message states the reason.
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
            throw CofferError(.refused, "This vault's policy requires a passcode of \(requirement).")
        }
        let isDenied = try passcode.secret.exposing { (bytes) throws(CofferError) -> Bool in
            if rejectsCommon, try PasscodeDenylist.isCommon(bytes) { return true }
            guard !denylist.isEmpty else { return false }
            return denylist.contains(try PasscodeDenylist.tag(of: bytes))
        }
        guard !isDenied else {
            throw CofferError(
                .refused,
                "This vault's policy rejects the passcode because it is too easy to guess. Choose "
                    + "another passcode.")
        }
    }

    /// A description of the required length and characters, for use in messages. The description does not
    /// include the rules on common and denied passcodes.
    public var requirement: String {
        let most = maximumLength ?? minimumLength
        return switch characters {
        case .any: "at least \(minimumLength) \(minimumLength == 1 ? "character" : "characters")"
        case .digits: most > minimumLength ? "\(minimumLength) to \(most) digits" : "\(most) digits"
        case .lettersAndDigits: "at least \(minimumLength) characters with letters and digits"
        }
    }
}
