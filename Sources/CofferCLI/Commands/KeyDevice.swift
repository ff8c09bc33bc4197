import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key device` command, which prints a key derived from a device identifier and a stored string.
struct KeyDevice: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Print a key derived from a device identifier and a random string stored in the vault.",
        discussion: """
            PBKDF2 derives the key from the device identifier followed by the random string. The vault \
            stores the string, the salt and the other parameters under a name; only --create creates them. \
            The identifier is this machine's, or the --device-id specified with --create.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var kept: KeptSecret

    @Option(help: ArgumentHelp("With --create: the hash function; default sha256.", valueName: "prf"))
    var prf: DerivationOptions.PRF?

    @Option(help: ArgumentHelp("With --create: the number of rounds; default 600000.", valueName: "n"))
    var rounds: Int?

    @Option(help: ArgumentHelp("With --create: 16 or 32 bytes; default 32.", valueName: "bytes"))
    var keySize: Int?

    @Option(help: ArgumentHelp("With --create: another device's identifier.", valueName: "text"))
    var deviceId: String?

    func run() async throws {
        try kept.check()
        guard let name = kept.stored else {
            throw CofferError(.invalidInput, "Specify the key's name with --stored.")
        }
        guard kept.create || prf == nil && rounds == nil && keySize == nil && deviceId == nil else {
            throw CofferError(
                .invalidInput,
                "The vault stores the key's parameters. Specify parameters only with --create.")
        }
        guard ProgramArguments.isText(deviceId ?? "") else {
            throw CofferError(.invalidInput, "The device identifier must be UTF-8.")
        }
        guard rounds.map({ $0 >= 1 }) ?? true else {
            throw CofferError(.invalidInput, "--rounds must be at least 1.")
        }
        guard keySize.map({ $0 == 16 || $0 == 32 }) ?? true else {
            throw CofferError(.invalidInput, "--key-size takes 16 or 32 bytes.")
        }
        let secrets = try await VaultOpener.unlocked(global).documentedSecrets
        if kept.create {
            try await secrets.createDeviceKey(
                name, digest: prf.flatMap { Digest.named($0.rawValue) } ?? .sha256,
                rounds: rounds ?? 600_000, keySize: keySize ?? 32, deviceID: deviceId)
        }
        let asJSON = global.json
        let printed: Void? = try await secrets.withDeviceSecret(name) { (secret, it) throws(CofferError) in
            let key = try secret.exposing { (secret) throws(CofferError) in
                try PBKDF2.derive(
                    secret: secret, salt: it.salt.span, rounds: it.rounds, digest: it.digest,
                    count: it.keySize)
            }
            let hex = try key.exposing { (span) throws(CofferError) in try Encoding.hex(span) }
            try Output.secret("key", hex.span, asJSON: asJSON)
        }
        guard printed != nil else { throw KeptSecret.none }
    }
}
