import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer policy verify` command, which checks a signed policy and prints its contents.
struct PolicyVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check a signed policy and print its contents. Changes nothing.",
        discussion: """
            With --key, checks the policy's form, signature, time and document with these public keys \
            instead of a vault's, but not its target. Without --key, checks whether the vault would take \
            the policy now. Prints nothing of a policy that is refused.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The signed policy; - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp(
            "A public key that may have signed the policy; may be repeated.", valueName: "hex"))
    var key: [String] = []

    func run() async throws {
        var keys: [AdministratorKey] = []
        for text in key { keys.append(try AdministratorKey(hex: text)) }
        let policy = try OrderFile.policy(file)
        let document: PolicyDocument
        if keys.isEmpty {
            document = try await VaultOpener.vault(global).verifyPolicy(policy)
        } else {
            document = try policy.check(signedBy: keys)
        }
        try SignedPolicyOutput.show(policy, document, verb: "valid", asJSON: global.json)
    }
}

/// The `coffer policy take` command, by which a vault takes a signed policy.
struct PolicyTake: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take", abstract: "Have the vault obey a signed policy from the next unlock on.",
        discussion: """
            Needs no passcode: the key that signed the policy must be one that the vault trusts (coffer \
            remote-wipe trust-key). The policy replaces the signed policy that the vault has taken before. \
            Earlier releases, which would ignore it, refuse the vault from then on.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The signed policy; - for standard input.", completion: .file())
    var file: String

    func run() async throws {
        let policy = try OrderFile.policy(file)
        let document = try await VaultOpener.vault(global).takePolicy(policy)
        try SignedPolicyOutput.show(policy, document, verb: "taken", asJSON: global.json)
    }
}

/// The output of commands that have verified a signed policy.
private enum SignedPolicyOutput {
    static func show(
        _ policy: SignedPolicy, _ document: PolicyDocument, verb: String, asJSON isJSON: Bool
    ) throws(CofferError) {
        for finding in document.findings {
            Output.message("coffer: \(finding.kind.word), \(finding.description.printable)")
        }
        let values = PolicyKey.allCases.compactMap { key in document.values[key].map { (key, $0) } }
        guard isJSON else {
            for line in policy.lines { try Output.line(line) }
            for (key, value) in values { try Output.line("\(key.rawValue): \(value.text.printable)") }
            return
        }
        let members = values.map { ($0.0.rawValue, $0.1.document) }
        try Output.json(
            .object([(verb, .flag(true))] + policy.members + [("values", .object(members))]))
    }
}
