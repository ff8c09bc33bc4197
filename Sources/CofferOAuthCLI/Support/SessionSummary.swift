import CofferBase
import CofferCommandLine
import CofferOAuth
import FoundationEssentials

/// What the commands print about a session. It contains no secret.
struct SessionSummary {
    private let profile: String
    private let account: String
    private let state: String
    private let record: GrantRecord?
    private let accessExpiry: Date?

    /// Creates the summary of a session.
    init(_ grant: Grant) async throws(CofferError) {
        let record = try await grant.currentRecord()
        accessExpiry = await grant.accessTokenExpiry(of: record)
        profile = grant.profile
        account = grant.account
        state = Self.name(of: record.state)
        self.record = record
    }

    /// Creates the summary of a session that cannot be read.
    init(profile: String, account: String, _ error: CofferError) {
        self.profile = profile
        self.account = account
        state = error.code.name
        record = nil
        accessExpiry = nil
    }

    /// The meanings of the states, for the help of the commands that print them.
    static let states = """
        The states: paired, the session can be used; refreshing, a process renews it, or was doing so when \
        it died; uncertain, the answer to a renewal was lost, and the next use repeats the renewal; lost, \
        the server no longer accepts the session, and it is not certain that somebody ended it; revoked, \
        the server ended the session; expired, the profile's policy ended it; leaving, it is being signed \
        out. After lost, revoked and expired, sign in again.
        """

    private static func name(of state: GrantRecord.State) -> String {
        switch state {
        case .paired: "paired"
        case .refreshing: "refreshing"
        case .uncertain: "uncertain"
        case .lost: "lost"
        case .revoked: "revoked"
        case .expired: "expired"
        case .leaving: "leaving"
        }
    }

    private var scopes: [String] { record?.scopes ?? [] }

    /// The fields as a row of a table.
    var row: [String] {
        [
            profile, account.printable, state, (record?.subject ?? "-").printable,
            scopes.joined(separator: " "),
        ]
    }

    /// The fields on lines of their own.
    var lines: [String] {
        var lines = ["profile: \(profile)", "account: \(account.printable)", "state: \(state)"]
        for (name, value) in texts { lines.append("\(name): \(value.printable)") }
        lines.append("scopes: \(scopes.joined(separator: " "))")
        return lines
    }

    /// The fields as JSON.
    var document: JSONDocument {
        var members: [(String, JSONDocument)] = [
            ("profile", .text(profile)), ("account", .text(account)), ("state", .text(state)),
        ]
        for (name, value) in texts { members.append((name, .text(value))) }
        members.append(("scopes", .list(scopes.map { .text($0) })))
        return .object(members)
    }

    private var texts: [(String, String)] {
        let all: [(String, String?)] = [
            ("issuer", record?.issuer), ("subject", record?.subject), ("instanceURL", record?.instanceURL),
            ("accessExpires", accessExpiry?.iso8601), ("failure", record?.failure),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
