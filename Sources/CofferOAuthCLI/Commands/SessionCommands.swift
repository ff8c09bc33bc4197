import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferOAuth

/// The `coffer oauth refresh` command, which renews a session's tokens.
struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Renew a session's tokens now, even if they are not due.",
        discussion: """
            If the server was not reached, the command ends with 15, and the next use repeats the renewal: \
            the session stays. If the server refused it, 11; if the session is lost or there is none, 14; \
            if there is no profile of this name either, 3.

            11 has two reasons, which the message and the code in --json tell apart. tokenRevoked: the \
            server ended the session, so sign in again. serverRefused: the session stays; the server does \
            not accept the client, for example, and serverCode is its reason.

            If the server revoked the session, the vault of a user with the account's name is erased.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let grant = try await Sessions.grant(session.profile, account: session.account, in: oauth)
        try await grant.refresh()
        let summary = try await SessionSummary(grant)
        if global.json { try Output.json(summary.document) }
    }
}

/// The `coffer oauth list` command, which lists the sessions.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions, also those that have ended. Nothing is sent.",
        discussion: """
            Tokens of sessions that were signed out and that wait to be revoked are listed as waiting: run \
            coffer oauth logout --all when their server can be reached.

            \(SessionSummary.states)
            """,
        aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        var summaries: [SessionSummary] = []
        for grant in try await oauth.grants() {
            do throws(CofferError) {
                summaries.append(try await SessionSummary(grant))
            } catch {
                // A damaged session does not hide the others.
                guard [.corrupt, .unsupportedVersion, .signInNeeded].contains(error.code) else { throw error }
                summaries.append(SessionSummary(profile: grant.profile, account: grant.account, error))
            }
        }
        let waiting = try await oauth.waitingTokens()
        guard !global.json else {
            return try Output.json(
                .object([
                    ("sessions", .list(summaries.map(\.document))),
                    ("waiting", .list(waiting.map(WaitingText.document))),
                ]))
        }
        let heading = ["PROFILE", "ACCOUNT", "STATE", "SUBJECT", "SCOPES"]
        let rows = summaries.map(\.row) + waiting.map(WaitingText.row)
        for line in TextTable.lines(heading, rows) { try Output.line(line) }
    }
}

/// The `coffer oauth status` command, which describes a session.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Describe a session. Nothing is sent.",
        discussion: """
            If the session has ended, or its time is over, the exit code is that of the reason: 11 if the \
            server revoked it, otherwise 14. In both cases, sign in again. accessExpires is the time until \
            which the stored access token is valid; the next use after it renews the token.

            \(SessionSummary.states)
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let grant = try await Sessions.grant(session.profile, account: session.account, in: oauth)
        let summary = try await SessionSummary(grant)
        if global.json {
            try Output.json(summary.document)
        } else {
            for line in summary.lines { try Output.line(line) }
        }
        if let error = try await grant.currentRecord().obstacle { throw ExitCode(error.code.exitCode) }
    }
}

/// The `coffer oauth identity` command, which prints what the server says about the user.
struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Ask the server who the user is.",
        discussion: """
            Prints the fields of the identity document or the OpenID claims that the server returns, such as \
            subject, username, displayName and email. If it returns none of them, the command ends with 7. \
            Most OpenID servers answer only if the session has the scope openid.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let grant = try await Sessions.grant(session.profile, account: session.account, in: oauth)
        let fields = IdentityText.fields(of: try await grant.identity())
        guard !fields.isEmpty else {
            throw CofferError(
                .serverMalformed, "The server's answer contains nothing that identifies the user.")
        }
        guard !global.json else {
            var members: [(String, JSONDocument)] = []
            for (name, value) in fields { members.append((name, .text(value))) }
            return try Output.json(.object(members))
        }
        for (name, value) in fields { try Output.line("\(name): \(value.printable)") }
    }
}
