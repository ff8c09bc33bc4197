import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key pbkdf2` command, which prints a key derived by PBKDF2.
struct KeyPBKDF2: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pbkdf2",
        abstract: "Print a key derived by PBKDF2 (RFC 8018), in hexadecimal.",
        discussion: """
            The secret is the first line of --passcode-fd, or is read from a terminal without echo.
            """)

    @OptionGroup var global: NoVaultOptions
    @OptionGroup var derivation: DerivationOptions

    @Option(help: ArgumentHelp("The key's size in bytes.", valueName: "length"))
    var length: Int

    func run() throws(CofferError) {
        let digest = try derivation.requiredDigest()
        let salt = try derivation.requiredSalt()
        let rounds = try derivation.requiredRounds()
        let secret = try PasscodeInput.readRequired(global.passcodeFd)
        let key = try secret.exposing { (secret) throws(CofferError) in
            try PBKDF2.derive(secret: secret, salt: salt.span, rounds: rounds, digest: digest, count: length)
        }
        let hex = try key.exposing { (span) throws(CofferError) in try Encoding.hex(span) }
        try Output.secret("key", hex.span, asJSON: global.json)
    }
}
