import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The `coffer aws-credential-process` command, which prints an AWS profile's keys.
struct AWSCredentialProcess: AsyncParsableCommand {
    static let name = "aws-credential-process"
    static let defaultProfile = "default"
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Print an AWS profile's keys in the credential_process format.",
        discussion: """
            In ~/.aws/config, write: credential_process = coffer aws-credential-process NAME. Store the \
            secret access key as a token for the service aws:NAME, with the access key id as the account. \
            Store a session token under the same service and account with the kind other. Use coffer token \
            put for both. Expired keys are not printed, and keys that contain a newline or a NUL byte are \
            refused.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The AWS profile's name.")
    var profile = Self.defaultProfile

    @Option(help: ArgumentHelp("The access key id, if the profile has several keys.", valueName: "id"))
    var accessKeyId: String?

    func run() async throws {
        let tokens = try await VaultOpener.unlockedForHelper(global).tokens
        let info = try await key(in: tokens)
        if info.isExpired(at: Date()) {
            throw CofferError(
                .absent,
                "This profile's keys expired at \(info.expires?.iso8601 ?? "some time"). Store new ones with "
                    + "coffer token put.")
        }
        guard let secret = try await tokens.get(info.id)?.token else { throw none }
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
                .invalidInput, "This profile has \(found.count) keys. Choose one with --access-key-id.")
        }
        guard let info = found.first else { throw none }
        return info
    }

    private var none: CofferError {
        CofferError(
            .absent,
            "No keys are stored for the service aws:\(profile). To store a secret access key, run coffer "
                + "token put aws:\(profile) ID, where ID is its access key id.")
    }
}
