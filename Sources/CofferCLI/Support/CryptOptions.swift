import ArgumentParser

/// The options of `crypt encrypt` and `crypt decrypt`.
struct CryptOptions: ParsableArguments {
    /// The supported message formats.
    enum Scheme: String, CaseIterable, ExpressibleByArgument {
        case documentedCBC = "documented-cbc"
        case pbkdf2CBC = "pbkdf2-cbc"
        case authenticatedCBC = "cbc-hmac"
        case gcm = "aes-gcm"
    }

    @Option(help: ArgumentHelp("The format.", valueName: "scheme"))
    var scheme: Scheme

    @Option(
        help: ArgumentHelp(
            "Read the key, in hexadecimal, from the first line of this descriptor; not for pbkdf2-cbc.",
            valueName: "n"))
    var keyHexFd: Int32?

    @Option(
        help: ArgumentHelp(
            "The IV or nonce, in hexadecimal, for a message that does not begin with it. Encryption "
                + "accepts it only for documented-cbc and pbkdf2-cbc: reusing a nonce breaks AES-GCM.",
            valueName: "hex"))
    var ivHex: String?

    @OptionGroup(title: "For pbkdf2-cbc") var derivation: DerivationOptions

    @Option(help: ArgumentHelp("The AES key's size in bytes for pbkdf2-cbc: 16 or 32.", valueName: "bytes"))
    var keySize = 32
}
