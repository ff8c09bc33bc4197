import ArgumentParser

/// The `coffer key` command, which groups the subcommands for key pairs and those that derive keys.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Key pairs whose private keys stay in the vault, and keys derived with documented schemes.",
        discussion: """
            A private key signs and is never printed or handed to another program; export writes only \
            those that were stored with --exportable. While the vault is locked, key pairs are listed, and \
            nothing is signed. For SSH and git, see coffer ssh-agent.

            For a certificate, csr prints a request, which an authority signs, and install stores what it \
            returns; self-signed makes one without an authority. import takes a key with its certificate \
            from a file of another program; rotate replaces a key pair.

            documented, device and pbkdf2 print keys for other programs that encrypt data with these \
            schemes. Their output is secret.
            """,
        subcommands: [
            KeyGenerate.self, KeyList.self, KeyShow.self, KeyPublic.self, KeyRename.self, KeyRemove.self,
            KeySign.self, KeyVerify.self, KeyCSR.self, KeySelfSigned.self, KeyInstall.self, KeyImport.self,
            KeyExport.self, KeyRotate.self,
            KeyNames.self, KeyDocumented.self, KeyDevice.self, KeyPBKDF2.self,
        ])
}
