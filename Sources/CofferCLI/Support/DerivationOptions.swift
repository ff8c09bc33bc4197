import ArgumentParser
import CofferBase
import CofferCrypto

/// The PBKDF2 options that all commands with PBKDF2 share.
struct DerivationOptions: ParsableArguments {
    /// The hash functions that PBKDF2 can use.
    enum PRF: String, CaseIterable, ExpressibleByArgument {
        case sha1, sha256, sha512
    }

    @Option(help: ArgumentHelp("The hash function for PBKDF2's HMAC.", valueName: "prf"))
    var prf: PRF?

    @Option(help: ArgumentHelp("The salt in hexadecimal.", valueName: "hex"))
    var saltHex: String?

    @Option(help: ArgumentHelp("The number of rounds, at least 1.", valueName: "rounds"))
    var rounds: Int?

    func requiredDigest() throws(CofferError) -> Digest {
        guard let prf, let digest = Digest.named(prf.rawValue) else { throw missing("--prf") }
        return digest
    }

    func requiredSalt() throws(CofferError) -> [UInt8] {
        guard let saltHex else { throw missing("--salt-hex") }
        guard let salt = HexText.decode(saltHex) else {
            throw CofferError(.invalidInput, "--salt-hex takes an even number of hexadecimal digits.")
        }
        return salt
    }

    func requiredRounds() throws(CofferError) -> Int {
        guard let rounds else { throw missing("--rounds") }
        return rounds
    }

    private func missing(_ option: String) -> CofferError {
        CofferError(.invalidInput, "PBKDF2 requires \(option).")
    }
}
