import Coffer
import CofferBase

/// Tokens for the credential helpers of other programs.
extension TokenStore {
    /// Returns the description of every readable token: a damaged one does not keep a helper from another.
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

    /// Returns the token of `kind` with the service and the account of `info`. If it arrived while locked and
    /// `info` did not, leaves it out and returns `nil`, because no user has accepted it.
    func companion(of info: TokenInfo, kind: TokenKind) async throws(CofferError) -> Token? {
        let id = try TokenID(service: info.id.service, account: info.id.account, kind: kind)
        guard let found = try await get(id) else { return nil }
        guard !found.info.isStoredWhileLocked || info.isStoredWhileLocked else {
            Output.message("coffer: a \(kind.name) token that arrived while locked is left out.")
            return nil
        }
        return found.token
    }
}

extension [TokenInfo] {
    /// The tokens stored by a caller who had the passcode, or all tokens if there are none of those. A token
    /// that arrived while locked under another account must not take precedence over them.
    var vouchedFor: [TokenInfo] {
        let known = filter { !$0.isStoredWhileLocked }
        return known.isEmpty ? self : known
    }
}
