import Coffer
import CofferBase

/// The tokens as the helpers of other programs see them.
extension TokenStore {
    /// Returns the description of every token that can be read: a damaged one stops no helper for another.
    func readable() async throws(CofferError) -> [TokenInfo] {
        let listing = try await listing()
        if !listing.damaged.isEmpty {
            Output.message(
                "coffer: \(Plural.of(listing.damaged.count, "stored token")) cannot be read: see coffer "
                    + "token list."
            )
        }
        return listing.tokens
    }

    /// The token of another kind under the names of `info`, which goes out with it. One that came in while
    /// locked does not go out beside one that did not: nobody accepted it.
    func companion(of info: TokenInfo, kind: TokenKind) async throws(CofferError) -> Token? {
        let id = try TokenID(service: info.id.service, account: info.id.account, kind: kind)
        let found = try await withToken(for: id) { token, companion in
            (token: token, isStoredWhileLocked: companion.isStoredWhileLocked)
        }
        guard let found else { return nil }
        guard !found.isStoredWhileLocked || info.isStoredWhileLocked else {
            Output.message("coffer: a \(kind.name) token that came in while locked is left out.")
            return nil
        }
        return found.token
    }
}

extension [TokenInfo] {
    /// Those that were stored by somebody who had the passcode, where there are any: what came in while
    /// locked under another account must not win against them.
    var vouchedFor: [TokenInfo] {
        let known = filter { !$0.isStoredWhileLocked }
        return known.isEmpty ? self : known
    }
}
