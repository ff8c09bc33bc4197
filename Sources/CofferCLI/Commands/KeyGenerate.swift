import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer key generate` command, which creates a key pair.
struct KeyGenerate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Create a key pair; print its public key for SSH.",
        discussion: """
            The private key is created in the vault and does not leave it, so no copy exists that could \
            restore it: if the vault is lost, so is the key. Only with --exportable can coffer key export \
            write it. With --confirm, each use asks: coffer key sign \
            on the terminal, coffer ssh-agent and coffer pkcs11 with the program in SSH_ASKPASS.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias
    @OptionGroup var options: KeyPairProtection

    @Option(help: "The algorithm; default ed25519. RSA keys are imported: see coffer key import.")
    var algorithm = KeyPairAlgorithmArgument.ed25519

    @OptionGroup var uses: KeyPairUseOption

    func run() async throws {
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        let pair = try await vault.keyPairs.generate(
            algorithm.algorithm, alias: alias,
            class: options.chosenClass, uses: uses.chosen ?? [.ssh, .sign],
            confirmsEachUse: options.confirm, isExportable: options.exportable)
        if global.json {
            try Output.json(pair.document())
        } else {
            try Output.line(SSHPublicKey.line(pair.publicKey, comment: pair.alias))
        }
    }
}
