import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto

/// The `coffer key rotate` command, which replaces a key pair by a new one.
struct KeyRotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Create a new key pair that takes over an alias; print its public key for SSH.",
        discussion: """
            The new key pair has the next generation and the same class, uses and options. Without a \
            certificate, it takes over at once. With one, or with a request for one, the current key pair \
            stays in use: coffer key csr and self-signed are then for the new one, which takes over when its \
            certificate is installed. \
            The former key pair stays in the vault, where coffer ssh-agent still offers it after all others, \
            until --retire destroys it.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    @Option(help: "The new key pair's algorithm; default: that of the current one.")
    var algorithm: KeyPairAlgorithmArgument?

    @Flag(help: "Destroy the former key pairs of the alias instead. Nothing restores them.")
    var retire = false

    @Flag(help: "Destroy the new key pair that awaits its certificate instead.")
    var cancel = false

    func run() async throws {
        guard [retire, cancel, algorithm != nil].filter(\.self).count <= 1 else {
            throw CofferError(.invalidInput, "Specify only one of --retire, --cancel and --algorithm.")
        }
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        guard retire || cancel else {
            let pair = try await vault.keyPairs.rotate(alias, algorithm: algorithm?.algorithm)
            guard !global.json else { return try Output.json(pair.document()) }
            if pair.role == .next {
                Output.message(
                    "coffer: The present key pair stays in use until a certificate for this key is installed "
                        + "with coffer key install.")
            }
            return try Output.line(SSHPublicKey.line(pair.publicKey, comment: pair.alias))
        }
        let removed =
            if retire {
                try await vault.keyPairs.retire(alias)
            } else {
                try await vault.keyPairs.cancelRotation(of: alias).map { [$0] } ?? []
            }
        guard !global.json else {
            return try Output.json(
                .object([
                    ("removed", .list(try removed.map { (pair) throws(CofferError) in try pair.document() }))
                ]))
        }
        try Output.line("Destroyed \(Plural.of(removed.count, "key pair")).")
    }
}
