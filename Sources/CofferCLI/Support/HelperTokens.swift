import Coffer
import CofferBase
import CofferCommandLine

/// Access to tokens for the credential helpers that other programs run.
extension TokenStore {
    /// Returns the descriptions of all readable tokens, so a damaged token does not prevent a helper from
    /// using other tokens. Prints a message if any token is damaged.
    func readable() async throws(CofferError) -> [TokenInfo] {
        let listing = try await listing()
        if !listing.corrupt.isEmpty {
            Output.message(
                "coffer: \(Plural.of(listing.corrupt.count, "stored token")) could not be read. For "
                    + "details, run coffer token list."
            )
        }
        return listing.tokens
    }

    /// Returns the token of the given kind that has the same service and account as `info`, or `nil` if there
    /// is none. If that token arrived while the vault was locked, and the token that `info` describes did
    /// not, prints a message and returns `nil`, because no user has accepted the token.
    func companion(of info: TokenInfo, kind: TokenKind) async throws(CofferError) -> Token? {
        let id = try TokenID(service: info.id.service, account: info.id.account, kind: kind)
        guard let found = try await get(id) else { return nil }
        guard !found.info.isStoredWhileLocked || info.isStoredWhileLocked else {
            Output.message(
                "coffer: A token of the kind \(kind.name) was left out, because it arrived while the "
                    + "vault was locked.")
            return nil
        }
        return found.token
    }
}

extension [TokenInfo] {
    /// The tokens that did not arrive while the vault was locked, or all tokens if every one of them did. A
    /// token that arrived while the vault was locked must not take precedence over a token that was stored
    /// with the passcode.
    var vouchedFor: [TokenInfo] {
        let known = filter { !$0.isStoredWhileLocked }
        return known.isEmpty ? self : known
    }
}
