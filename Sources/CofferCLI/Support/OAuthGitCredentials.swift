import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The access tokens of OAuth sessions as git's passwords, for the hosts that the profiles list.
struct OAuthGitCredentials {
    /// A session whose profile lists git's host.
    struct Session {
        let profile: String
        let account: String

        var name: String { account.isEmpty ? profile : "\(profile)/\(account)" }
    }

    private static let maxByteCount = 4 << 20
    private static let renewalDeadline = Duration.seconds(90)
    /// The user's name for servers that take any.
    private static let anyUser = "oauth2"

    let tokens: TokenStore
    let global: GlobalOptions

    /// Returns the session for a request; `nil` if no profile lists the host, if several sessions could be
    /// meant, or if the session's tokens are bound to a key, which `explains` tells the user.
    func session(for request: GitRequest, explains: Bool) async throws(CofferError) -> Session? {
        guard let kind = try request.text("protocol"), kind.hasSameBytes(as: "https"),
            let host = try request.text("host")?.foldedASCII, HostName.isHostAndPort(host)
        else { return nil }
        let user = try request.text("username")
        var (found, bound): ([Session], [Session]) = ([], [])
        for profile in try await tokens.profileNames() {
            guard let settings = try await tokens.profileSettings(profile),
                (settings["resourceHosts"]?.array ?? []).contains(where: { pattern in
                    pattern.string.map { Self.isMatch(host, $0) } ?? false
                })
            else { continue }
            for account in try await tokens.sessionAccounts(of: profile) {
                // git cannot make the proof that a server wants with such a token.
                if try await tokens.isBoundToKey(profile: profile, account: account) {
                    bound.append(Session(profile: profile, account: account))
                } else {
                    found.append(Session(profile: profile, account: account))
                }
            }
        }
        let isOwn = { (session: Session) in user.map { session.account.hasSameBytes(as: $0) } ?? false }
        let own = found.filter(isOwn)
        var all = own.isEmpty ? found : own
        // Another account's token is no substitute for the one of the user whom git names.
        let ownBound = own.isEmpty ? bound.first(where: isOwn) : nil
        if ownBound != nil { all = [] }
        if explains, all.count > 1 { Self.explain(all, host) }
        if explains, all.isEmpty, let session = ownBound ?? bound.first { Self.explainKey(of: session) }
        return all.count == 1 ? all[0] : nil
    }

    private static func explainKey(of session: Session) {
        Output.message(
            "coffer: The server bound the tokens of the OAuth session \(session.name.printable) to a key "
                + "(DPoP), so git cannot use them. "
                + OAuthTokenFormat.adviceForBoundTokens(session.profile))
    }

    private static func explain(_ sessions: [Session], _ host: String) {
        let names = sessions.map(\.name)
        Output.message(
            "coffer: Several OAuth sessions list \(host.printable), so none is used: "
                + "\(names.sorted().joined(separator: ", ").printable). Put the account into the URL: "
                + "https://ACCOUNT@\(host.printable)/.")
    }

    /// Reports whether git's host matches a profile's resource host. It is a host with or without a port:
    /// only of such a text does the end say whose host it is.
    private static func isMatch(_ host: String, _ pattern: String) -> Bool {
        let (host, pattern) = (withoutDefaultPort(host), withoutDefaultPort(pattern))
        guard pattern.utf8.hasPrefix("*.") else { return host.hasSameBytes(as: pattern) }
        let end = String(decoding: pattern.utf8.dropFirst(), as: UTF8.self)
        return host.utf8.hasSuffix(end) && host.utf8.count > end.utf8.count
    }

    private static func withoutDefaultPort(_ host: String) -> String {
        let port = ":443"
        guard host.utf8.hasSuffix(port) else { return host }
        return String(decoding: host.utf8.dropLast(port.utf8.count), as: UTF8.self)
    }

    /// Returns the lines that answer a request; no bytes if there is no token. If `mayAsk` is `true`, the
    /// program that renews the token may ask for the vault's passcode.
    func answer(
        to request: GitRequest, of session: Session, mayAsk: Bool
    ) async throws(CofferError) -> GuardedBytes {
        let token: Token
        var expires: Date?
        if let access = try await tokens.liveAccess(profile: session.profile, account: session.account) {
            token = access.token
            expires = access.info.expires
        } else {
            guard let renewed = try await renewed(session, mayAsk: mayAsk) else {
                return try GuardedBytes.zeroed(count: 0)
            }
            token = renewed
            let id = try TokenID(
                service: ReservedServices.oauth + session.profile, account: session.account, kind: .access)
            expires = try await tokens.info(for: id)?.expires
        }
        return try lines(token, expires, for: request)
    }

    private func lines(
        _ token: Token, _ expires: Date?, for request: GitRequest
    ) throws(CofferError) -> GuardedBytes {
        var lines = try GuardedBuffer.make(limit: Self.maxByteCount)
        let user = try request.text("username") ?? Self.anyUser
        // A git that knows the capability does not ask its helpers to store the password.
        if try request.strings("capability[]").contains(where: { $0.hasSameBytes(as: "authtype") }) {
            try lines.append("capability[]=authtype\nephemeral=1\n")
        }
        try lines.append("username=\(user)\npassword=")
        try token.exposing { (bytes) throws(CofferError) in
            for index in bytes.indices where bytes[index] < 0x21 || bytes[index] > 0x7E {
                throw CofferError(.refused, "The access token contains a character that git cannot read.")
            }
            try lines.append(bytes)
        }
        try lines.append("\n")
        if let expires {
            try lines.append("password_expiry_utc=\(Int(expires.timeIntervalSince1970))\n")
        }
        return try lines.finish()
    }

    /// Has the other program renew the token; returns `nil` if it reported an error.
    private func renewed(_ session: Session, mayAsk: Bool) async throws(CofferError) -> Token? {
        let home = FileNameBytes.of(try global.homePath())
        var words = ["token", "--home=" + ProgramArguments.text(home)]
        if !session.account.isEmpty { words.append("--account=" + session.account) }
        if let user = global.user { words.append("--user=" + user) }
        if global.allowPrompt { words.append("--allow-prompt") }
        if mayAsk { words.append("--on-terminal") }
        let command = try OAuthProgram.command(words + ["--", session.profile])
        return try await BlockingExecutor.run { cancellation throws(CofferError) -> Token? in
            let none = [UInt8]()
            let outcome = try Subprocess.run(
                command, input: none.span, limit: Token.maxByteCount, deadline: Self.renewalDeadline,
                isCancelled: { cancellation.isCancelled })
            guard outcome.code == 0 else { return nil }
            let output = outcome.takeOutput()
            guard output.count > 0 else { return nil }
            return try Token(SecretBytes(output))
        }
    }

    /// Removes the session's access token, which the server refused before its time, so that the next use
    /// renews it. If another program has just renewed it, the next use renews it once more.
    func removeAccessToken(of session: Session) async throws(CofferError) {
        let id = try TokenID(
            service: ReservedServices.oauth + session.profile, account: session.account, kind: .access)
        try await tokens.remove(id)
    }

    /// Reports whether git's user name is one with which sessions are answered, so that the password is an
    /// access token, perhaps one that was renewed meanwhile.
    func isAnswered(_ request: GitRequest, of session: Session) throws(CofferError) -> Bool {
        guard let user = try request.text("username") else { return true }
        return user.hasSameBytes(as: Self.anyUser) || user.hasSameBytes(as: session.account)
    }

    /// Reports whether a password is the session's access token, which no helper needs to store.
    func isAccessToken(_ password: Token, of session: Session) async throws(CofferError) -> Bool {
        let id = try TokenID(
            service: ReservedServices.oauth + session.profile, account: session.account, kind: .access)
        guard let stored = try await tokens.get(id) else { return false }
        return stored.token.exposing { left in
            password.exposing { right in ConstantTime.equal(left, right) }
        }
    }
}
