import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer key rename` command, which gives a key pair another alias.
struct KeyRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give a key pair another alias.", aliases: ["mv"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    @Argument(help: "The new alias, which no key pair may have.")
    var newAlias: String

    func run() async throws {
        let (old, new) = (try name.text(), try KeyPairAlias.checked(newAlias))
        try await VaultOpener.unlocked(global).keyPairs.rename(old, to: new)
        if global.json { try Output.json(.object([("alias", .text(new))])) }
    }
}

/// The `coffer key remove` command, which destroys a key pair.
struct KeyRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Destroy a key pair. Nothing restores its private key.",
        discussion: "The file in which the key pair was stored is replaced, and the old one overwritten.",
        aliases: ["rm"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: KeyPairAlias

    func run() async throws {
        let alias = try name.text()
        let vault = try await VaultOpener.unlocked(global)
        guard let removed = try await vault.keyPairs.remove(alias) else { throw KeyPairAlias.absent }
        guard global.json else { return }
        try Output.json(
            .object([
                ("removed", .flag(true)),
                ("fingerprint", .text(try SSHPublicKey.fingerprint(removed.publicKey))),
            ]))
    }
}
