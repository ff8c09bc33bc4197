import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer policy sign` command, which signs a policy for a vault or a device.
struct PolicySign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign", abstract: "Sign a policy file and write the signed policy to standard output.",
        discussion: """
            The private key is one of coffer remote-wipe keygen: 32 bytes in hexadecimal, in a file that \
            only this user can read or on a descriptor, never an argument. The policy can be taken until \
            --valid-for is over; a vault that has taken it keeps it. The default counter is the time of \
            issue, or the current time if that is later, in milliseconds: a vault takes only a policy with \
            a greater counter than the last one. With --json, the document contains the policy in Base64. \
            Needs no vault.
            """)

    @OptionGroup var options: NoVaultOptions
    @OptionGroup var signing: SigningOptions

    @Argument(
        help: "The file, whose name ends in .plist or .json; at most 65536 bytes.",
        completion: .file(extensions: ["plist", "json"]))
    var file: String

    @Flag(help: "Sign the file even if it has keys that this release does not know.")
    var allowUnknown = false

    func run() async throws {
        let (bytes, document) = try PolicyFile.readValid(file, allowUnknown: allowUnknown, "signed")
        let period = try signing.period()
        let target = try signing.target()
        let seed = try signing.privateKey()
        let signed = try SignedPolicy.sign(
            bytes, as: document.format, for: target, counter: period.counter, issued: period.issued,
            expires: period.expires, by: seed)
        try Output.content("policy", signed.span, asJSON: options.json)
    }
}
