import Coffer
import CofferBase

/// Token access for the credential helpers that other programs run.
extension TokenStore {
    /// Returns the descriptions of all readable tokens, so that a damaged token does not prevent a helper
    /// from using another one. Prints a message if any token is damaged.
    func readable() async throws(CofferError) -> [TokenInfo] {
        let listing = try await listing()
        if !listing.corrupt.isEmpty {
            Output.message(
                "coffer: \(Plural.of(listing.corrupt.count, "stored token")) cannot be read: see coffer "
                    + "token list."
            )
        }
        return listing.tokens
    }

    /// Returns the token of `kind` with the service and the account of `info`, or `nil` if there is none.
    /// Also returns `nil`, with a message, for a token that arrived while locked, unless the token that
    /// `info` describes did too: no user has accepted such a token.
    func companion(of info: TokenInfo, kind: TokenKind) async throws(CofferError) -> Token? {
        let id = try TokenID(service: info.id.service, account: info.id.account, kind: kind)
        guard let found = try await get(id) else { return nil }
        guard !found.info.isStoredWhileLocked || info.isStoredWhileLocked else {
            Output.message("coffer: A \(kind.name) token that arrived while locked is left out.")
            return nil
        }
        return found.token
    }
}

extension [TokenInfo] {
    /// The tokens that did not arrive while locked, or all tokens if each of them did. A token that arrived
    /// while locked must not take precedence over one that a caller with the passcode stored.
    var vouchedFor: [TokenInfo] {
        let known = filter { !$0.isStoredWhileLocked }
        return known.isEmpty ? self : known
    }
}
