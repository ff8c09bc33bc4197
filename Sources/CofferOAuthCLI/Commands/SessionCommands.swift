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
            the session stays. If the server refused it, 11; if the session is lost or there is none, 14.
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
        discussion: "If the session has ended, the exit code is that of the reason: 14 or 11.")

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
        if let error = try await grant.record().obstacle { throw ExitCode(error.code.exitCode) }
    }
}

/// The `coffer oauth identity` command, which prints what the server says about the user.
struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Ask the server who the user is.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let grant = try await Sessions.grant(session.profile, account: session.account, in: oauth)
        let fields = IdentityText.fields(of: try await grant.identity())
        guard !global.json else {
            var members: [(String, JSONDocument)] = []
            for (name, value) in fields { members.append((name, .text(value))) }
            return try Output.json(.object(members))
        }
        for (name, value) in fields { try Output.line("\(name): \(value.printable)") }
    }
}
