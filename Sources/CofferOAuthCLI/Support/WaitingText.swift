import CofferBase
import CofferCommandLine
import CofferOAuth

/// What the commands print about tokens that wait to be revoked. It contains no secret.
enum WaitingText {
    /// Returns the tokens of a profile that wait; of all profiles without one.
    static func tokens(of profile: String?, in oauth: OAuth) async throws(CofferError) -> [WaitingTokens] {
        do throws(CofferError) {
            let all = try await oauth.waitingTokens()
            guard let profile else { return all }
            return all.filter { $0.profile.hasSameBytes(as: profile) }
        } catch {
            // Signing out can erase the vault itself.
            guard error.code == .wiped else { throw error }
            return []
        }
    }

    /// The message that says what to do next.
    static func message(_ tokens: WaitingTokens) -> String {
        let name = tokens.profile + (tokens.account.isEmpty ? "" : "/" + tokens.account.printable)
        guard let count = tokens.count else {
            return "coffer: The list of the tokens of \(name) that wait to be revoked cannot be read."
        }
        let verb = count == 1 ? "waits" : "wait"
        let what = "coffer: \(Plural.of(count, "token")) of \(name) \(verb) to be revoked"
        guard tokens.hasServer else {
            return what + ", but there is no profile \(tokens.profile) for their server. Add it with the "
                + "same issuer and token endpoint, then run coffer oauth logout --all."
        }
        return what + " at the server. Run coffer oauth logout --all when it can be reached. A server that "
            + "lets this client revoke nothing accepts them until they expire."
    }

    /// A row of the table of sessions.
    static func row(_ tokens: WaitingTokens) -> [String] {
        let count = tokens.count.map { Plural.of($0, "token") + " to revoke" } ?? "damaged list"
        return [tokens.profile, tokens.account.printable, "waiting", "-", "(\(count))"]
    }

    static func document(_ tokens: WaitingTokens) -> JSONDocument {
        .object([
            ("profile", .text(tokens.profile)), ("account", .text(tokens.account)),
            ("tokens", tokens.count.map { .number($0) } ?? .none), ("hasServer", .flag(tokens.hasServer)),
        ])
    }
}
