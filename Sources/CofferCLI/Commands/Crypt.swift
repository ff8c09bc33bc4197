import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer crypt` command, which groups the subcommands that encrypt and decrypt standard input.
struct CryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crypt",
        abstract: "Encrypt or decrypt standard input to standard output in a documented format.",
        discussion: """
            Formats:

            documented-cbc: IV (16 bytes), then AES-CBC with PKCS#5 padding. With --iv-hex, the IV is stored \
            separately and the message is the bare ciphertext, as `openssl enc -aes-256-cbc -K … -iv …` \
            reads and writes it.
            pbkdf2-cbc: the format documented-cbc with a key that PBKDF2 derives from the secret on \
            --passcode-fd.
            cbc-hmac: "\(CryptJob.magic)", IV (16), ciphertext, tag (32): AES-256-CBC, then HMAC-SHA-256. \
            The first 8 bytes are authenticated too.
            aes-gcm: nonce (12), ciphertext, tag (16).

            The first two formats are not authenticated; use them only for existing data. The command keeps \
            the whole message in memory, at most 1 GiB, and writes nothing if the message cannot be \
            decrypted. With --json, the output is Base64 in the field messageBase64 or plaintextBase64.
            """,
        subcommands: [CryptEncrypt.self, CryptDecrypt.self])
}

/// The `coffer crypt encrypt` command, which encrypts standard input to standard output.
struct CryptEncrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Encrypt standard input to standard output.")

    @OptionGroup var global: NoVaultOptions
    @OptionGroup var options: CryptOptions

    func run() throws {
        let job = try CryptJob.make(options, global.passcodeFd)
        let plaintext = try CryptJob.input()
        let message = try job.encrypt(plaintext.span)
        try Output.content("messageBase64", message.span, asJSON: global.json)
    }
}

/// The `coffer crypt decrypt` command, which decrypts standard input to standard output.
struct CryptDecrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt", abstract: "Decrypt standard input to standard output.")

    @OptionGroup var global: NoVaultOptions
    @OptionGroup var options: CryptOptions

    func run() throws {
        let job = try CryptJob.make(options, global.passcodeFd)
        let message = try CryptJob.input()
        let plaintext = try job.decrypt(message.span)
        let asJSON = global.json
        try plaintext.exposing { (span) throws(CofferError) in
            try Output.content("plaintextBase64", span, asJSON: asJSON)
        }
    }
}
