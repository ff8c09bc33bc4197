public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An estimate of how long an attacker with a copy of the whole vault needs to guess its passcode.
///
/// The copy consists of the vault directory and, if the device key is in the user's desktop keyring, also
/// that keyring. No counter limits guessing on a copy.
public struct PasscodeStrength: Sendable, Equatable {
    /// A kind of passcode, and the time that trying every passcode of that kind takes.
    public struct Estimate: Sendable, Equatable {
        /// A description of this kind of passcode.
        public let passcodes: String
        /// The number of passcodes of this kind.
        public let count: Double
        /// The time in seconds that trying all of these passcodes takes on one core of this machine; on
        /// average, half that time is enough.
        public let seconds: Double
    }

    /// The time in seconds that one guess takes at this vault's cost, measured on one core of this machine.
    public let secondsPerGuess: Double
    /// A description of the passcode policy's requirement.
    public let requirement: String
    /// The estimates for the kinds of passcode that the policy accepts, roughly from the weakest to the
    /// strongest.
    public let estimates: [Estimate]

    /// The kinds of passcode to report, with their alphabet sizes, their lengths and the policies that accept
    /// them.
    private static let kinds: [(name: String, alphabet: Double, length: Int, characters: [Characters])] = [
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
            return Estimate(passcodes: kind.name, count: count, seconds: count * secondsPerGuess)
        }
    }

    /// The maximum amount of memory to use for the measurement, in KiB; times for larger amounts are
    /// extrapolated.
    private static let measured = 256 * 1024

    /// Measures how many seconds one derivation at `cost` takes on this machine; returns the better of two
    /// results.
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
    /// Estimates how long it takes to guess this vault's passcode with a copy of the vault's files. To
    /// measure how long a key derivation takes on this machine, the method derives two keys, at a limited
    /// cost.
    ///
    /// - Returns: The estimate; `nil` if no passcode is set.
    /// - Throws: `outOfMemory` if the memory for a derivation cannot be allocated; `wiped` or `corrupt`.
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
