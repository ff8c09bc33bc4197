public import CofferBase
import CofferCrypto
import CofferEngine

/// How long guessing a vault's passcode takes for somebody who has all that the vault is made of: a copy of
/// the home and, where that has the device key, of the user's keyring. No counter stops them.
public struct PasscodeStrength: Sendable, Equatable {
    /// A kind of passcode, and how long trying all of that kind takes.
    public struct Estimate: Sendable, Equatable {
        /// What is tried.
        public let passcodes: String
        /// How many there are.
        public let count: Double
        /// Seconds for all of them on one core of this machine; half of it on average.
        public let seconds: Double
    }

    /// What one guess takes at this vault's cost, measured now on one core of this machine.
    public let secondsPerGuess: Double
    /// What the policy asks for, in words.
    public let requirement: String
    /// Kinds of passcodes that the policy lets through, the weakest first.
    public let estimates: [Estimate]

    /// The kinds of passcodes that are told of: with how many characters of how many.
    private static let kinds: [(what: String, alphabet: Double, length: Int, characters: [Characters])] = [
        ("all of 4 digits", 10, 4, [.any, .digits]), ("all of 6 digits", 10, 6, [.any, .digits]),
        ("all of 8 digits", 10, 8, [.any, .digits]),
        ("5 random letters and digits", 36, 5, [.any, .lettersAndDigits]),
        ("8 random letters and digits", 36, 8, [.any, .lettersAndDigits]),
        ("10 random letters and digits", 36, 10, [.any, .lettersAndDigits]),
        ("10 random digits", 10, 10, [.digits]),
        ("12 random letters and digits", 36, 12, [.lettersAndDigits]),
    ]
    private typealias Characters = PasscodePolicy.Characters

    init(secondsPerGuess: Double, policy: PasscodePolicy) {
        self.secondsPerGuess = secondsPerGuess
        requirement = policy.requirement
        estimates = Self.kinds.compactMap { kind in
            guard kind.characters.contains(policy.characters), kind.length >= policy.minimumLength,
                kind.length <= policy.maximumLength ?? .max
            else { return nil }
            var count = 1.0
            for _ in 0..<kind.length { count *= kind.alphabet }
            return Estimate(passcodes: kind.what, count: count, seconds: count * secondsPerGuess)
        }
    }

    /// The costliest derivation that is run to measure; what costs more is reckoned from it.
    private static let measured = 256 * 1024

    /// What one derivation at `cost` takes here: the better of two.
    static func measure(_ cost: Argon2id.Cost) throws(CofferError) -> Double {
        let memory = min(cost.memoryKiB, measured)
        let passes = cost.memoryKiB > measured ? 2 : min(cost.passes, 6)
        let trial = try Argon2id.Cost(memoryKiB: memory, passes: passes)
        var best = Double.infinity
        for _ in 0..<2 {
            let salt = try SecureRandom.bytes(Argon2id.saltSize)
            let secret = try SecretBytes.random(count: 8)
            let start = Clock.sinceBoot
            _ = try Argon2id.deriveKey(secret: secret, salt: salt.span, cost: trial)
            best = min(best, Double((Clock.sinceBoot - start).nanoseconds) / 1e9)
        }
        let factor = Double(cost.memoryKiB) * Double(cost.passes) / (Double(memory) * Double(passes))
        return best * factor
    }
}

extension Vault {
    /// How long guessing this vault's passcode takes with a copy of its files, by what deriving a key takes
    /// on this machine; `nil` when no passcode is set. Takes as long as two guesses.
    ///
    /// - Throws: `wiped`, `corrupt`, `outOfMemory`.
    public func passcodeStrength() async throws(CofferError) -> PasscodeStrength? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            guard let parameters = keybag.passcode else { return nil }
            return PasscodeStrength(
                secondsPerGuess: try PasscodeStrength.measure(parameters.cost), policy: keybag.policy)
        }
    }
}
