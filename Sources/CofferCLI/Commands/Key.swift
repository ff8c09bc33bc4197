import ArgumentParser

/// The `coffer key` command, which groups the subcommands for key pairs and those that derive keys.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Key pairs whose private keys stay in the vault, and keys derived with documented schemes.",
        discussion: """
            A private key signs and is never printed, exported or handed to another program. While the vault \
            is locked, key pairs are listed, and nothing is signed. For SSH and git, see coffer ssh-agent.

            For a certificate, csr prints a request, which an authority signs, and install stores what it \
            returns; self-signed makes one without an authority.

            documented, device and pbkdf2 print keys for other programs that encrypt data with these \
            schemes. Their output is secret.
            """,
        subcommands: [
            KeyGenerate.self, KeyList.self, KeyShow.self, KeyPublic.self, KeyRename.self, KeyRemove.self,
            KeySign.self, KeyVerify.self, KeyCSR.self, KeySelfSigned.self, KeyInstall.self,
            KeyNames.self, KeyDocumented.self, KeyDevice.self, KeyPBKDF2.self,
        ])
}
