import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferOAuth
import FoundationEssentials

/// The `coffer oauth token` command, which writes an access token to standard output.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Write an access token to standard output, renewed if it is due.",
        discussion: """
            raw is the token, byte for byte; header is a line such as Authorization: Bearer TOKEN; json \
            describes the token, too; xoauth2 and oauthbearer are the answers of these SASL mechanisms in \
            Base64, whose user is the account of the session, which xoauth2 requires; kubernetes is the \
            answer of a credential plug-in of kubectl. --json is the same as --format json.

            With --for, a token is refused with exit code 7 unless the profile lists the URL's host.

            A token that the server bound to a key (DPoP) is of use only with a proof for each request, \
            which other programs cannot make: it is written as raw and json only. With the profile's \
            --key-proof never, the server is asked for tokens without a key.

            If the server revoked the session, the vault of a user with the account's name is erased.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: OAuthTokenOptions

    func run() async throws {
        let url = try options.url.map { (text) throws(CofferError) -> HTTPSURL in try HTTPSURL(text) }
        let prompt = options.onTerminal ? "Vault passcode, to renew the access token: " : nil
        let vault = try await VaultOpener.unlockedForHelper(global, prompt: prompt)
        let oauth = try await Sessions.sessions(of: vault)
        let profile = try await oauth.profiles.profile(options.profile)
        if let url, !profile.allows(url) {
            throw CofferError(
                .hostRefused,
                "The profile \(profile.name) does not list the host of \(url.text), so the access token "
                    + "must not go there.", remedy: .allowHost)
        }
        let grant = try await Sessions.grant(options.profile, account: options.account, in: oauth)
        let record = try await grant.currentRecord()
        // Before a renewal whose token could not be written either.
        if record.obstacle == nil, record.hasDPoPKey, !format.isForBoundTokens { throw Self.bound(grant) }
        let found = try await grant.accessToken()
        try write(found.token, isBound: found.isBound, of: grant, url)
    }

    private var format: OAuthTokenFormat { global.json ? .json : options.format }

    private static func bound(_ grant: Grant) -> CofferError {
        CofferError(
            .unsupported,
            "The server bound the access token to a key (DPoP). Other programs cannot make the proof that "
                + "each request with it needs. " + OAuthTokenFormat.adviceForBoundTokens(grant.profile))
    }

    private func write(
        _ live: LiveToken, isBound: Bool, of grant: Grant, _ url: HTTPSURL?
    ) throws(CofferError) {
        guard !isBound || format.isForBoundTokens else { throw Self.bound(grant) }
        if isBound, format == .raw {
            Output.message(
                "coffer: The token is bound to a key (DPoP): servers want a proof with each request.")
        }
        let type: TokenResponse.TokenType = isBound ? .dpop : .bearer
        let account = grant.account
        guard format != .xoauth2 || !account.isEmpty else {
            throw CofferError(
                .invalidInput,
                "The format xoauth2 contains the user's name, and this session has no account. Sign in with "
                    + "coffer oauth login \(grant.profile) --account ACCOUNT.")
        }
        try live.token.exposing { (bytes) throws(CofferError) in
            switch format {
            case .raw: try Output.bytes(bytes)
            case .header: try Self.line(try TokenFormat.header(bytes))
            case .xoauth2: try Self.line(try TokenFormat.xoauth2(bytes, user: account))
            case .oauthbearer:
                try Self.line(
                    try TokenFormat.oauthbearer(
                        bytes, user: account.isEmpty ? nil : account, host: url?.host, port: url?.port))
            case .kubernetes:
                let text = try TokenFormat.kubernetes(bytes, expiry: live.info.expires?.iso8601)
                try text.exposing { (bytes) throws(CofferError) in try Output.bytes(bytes) }
            case .json:
                try Output.content("tokenBase64", bytes, asJSON: true, with: fields(live, type))
            }
        }
    }

    private static func line(_ text: borrowing SecretBytes) throws(CofferError) {
        try text.exposing { (bytes) throws(CofferError) in try Output.bytes(bytes) }
        try Output.bytes([UInt8(ascii: "\n")].span)
    }

    private func fields(
        _ live: LiveToken, _ type: TokenResponse.TokenType
    ) -> [(String, JSONDocument)] {
        [
            ("tokenType", .text(type == .dpop ? "DPoP" : "Bearer")),
            ("expires", live.info.expires.map { .text($0.iso8601) } ?? .none),
            ("remainingSeconds", .number(Int(live.remaining.components.seconds))),
            ("scopes", .list(live.info.scopes.map { .text($0) })),
        ]
    }
}
