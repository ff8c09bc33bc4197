import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// `coffer aws-credential-process`
struct AWSCredentialProcess: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws-credential-process",
        abstract: "Give the keys of an AWS profile in the form of credential_process.",
        discussion: """
            In ~/.aws/config: credential_process = coffer aws-credential-process NAME. The secret access key \
            is the token of the service aws:NAME, with the access key id as its account; a session token has \
            the same names and the kind other. Both are kept with token put. Expired keys are not given.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The profile.")
    var profile = "default"

    @Option(help: ArgumentHelp("The key, where a profile has several.", valueName: "id"))
    var accessKeyId: String?

    func run() async throws {
        let tokens = try await VaultOpener.unlockedForHelper(global).tokens
        let info = try await key(in: tokens)
        if info.isExpired(at: Date()) {
            throw CofferError(
                .absent, "The keys of this profile expired at \(info.expires?.iso8601 ?? "some time").")
        }
        guard let secret = try await tokens.withToken(for: info.id, { token, _ in token }) else { throw none }
        var members = [
            ("AccessKeyId", try Token(copying: info.id.account)), ("SecretAccessKey", secret),
        ]
        if let token = try await tokens.companion(of: info, kind: .other) {
            members.append(("SessionToken", token))
        }
        if let expires = info.expires { members.append(("Expiration", try Token(copying: expires.iso8601))) }
        let line = try SecretJSON.line(members, before: "\"Version\":1")
        try Output.bytes(line.span)
    }

    private func key(in tokens: TokenStore) async throws(CofferError) -> TokenInfo {
        let service = "aws:" + profile
        let found = try await tokens.readable().filter { info in
            info.id.service.hasSameBytes(as: service) && info.id.kind == .access
                && accessKeyId.map { info.id.account.hasSameBytes(as: $0) } ?? true
        }.vouchedFor
        guard found.count <= 1 else {
            throw CofferError(
                .invalidInput, "This profile has \(found.count) keys: say which with --access-key-id.")
        }
        guard let info = found.first else { throw none }
        return info
    }

    private var none: CofferError {
        CofferError(.absent, "There are no keys of this profile: store them with coffer token put.")
    }
}
