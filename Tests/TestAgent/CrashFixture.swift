import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// Crashes with a secret in hand, to show what a crash handler prints of it.
enum CrashFixture {
    static func play(hardened: Bool) throws {
        if hardened { try ProcessHardening.apply() }
        Agent.say("ready")
        let secret = try SecretBytes(SecretInput.line(from: Descriptor.standardInput()))
        Agent.say("holding \(trap(secret))")
    }

    /// Reads the secret, so that pieces of it are in registers and on the stack, and then past an array's
    /// end.
    @inline(never)
    private static func trap(_ secret: borrowing SecretBytes) -> Int {
        let words = secret.exposing { bytes in
            var words = [0, 0, 0, 0, 0]
            for index in 0..<bytes.count {
                words[index / 8 % 5] = words[index / 8 % 5] << 8 | Int(bytes[index])
            }
            return words
        }
        return words[secret.count + words[0] % 2]
    }
}
