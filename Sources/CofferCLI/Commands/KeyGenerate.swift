import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer key generate` command, which creates a key pair.
struct KeyGenerate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Create a key pair; print its public key for SSH.",
        discussion: """
            The private key is created in the vault and never leaves it, so no copy exists that could \
            restore it: if the vault is lost, so is the key. With --confirm, each use asks: coffer key sign \
            on the terminal, coffer ssh-agent with the program in SSH_ASKPASS.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: KeyPairProtection

    @Option(help: "The algorithm; default ed25519. RSA keys are imported: see coffer ssh import.")
    var algorithm = KeyPairAlgorithmArgument.ed25519

    @Option(
        name: .customLong("use"), parsing: .singleValue,
        help: """
            ssh for the SSH agent, sign for coffer key sign, tls-client for a client's certificate; may be \
            repeated. Default: ssh and sign.
            """)
    var uses: [KeyPairUseArgument] = []

    func run() async throws {
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        let pair = try await vault.keyPairs.generate(
            algorithm.algorithm, alias: alias,
            class: options.protection?.protection ?? .whenUnlockedThisDeviceOnly,
            uses: uses.isEmpty ? [.ssh, .sign] : uses.reduce(into: []) { $0.formUnion($1.use) },
            confirmsEachUse: options.confirm)
        if global.json {
            try Output.json(pair.document())
        } else {
            try Output.line(SSHPublicKey.line(pair.publicKey, comment: pair.alias))
        }
    }
}
