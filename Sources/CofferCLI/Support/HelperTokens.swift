import Coffer
import CofferBase

/// The tokens as the helpers of other programs see them.
extension TokenVault {
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
}

extension [TokenInfo] {
    /// Those that were stored by somebody who had the passcode, where there are any: what came in while
    /// locked under another account must not win against them.
    var vouchedFor: [TokenInfo] {
        let known = filter { !$0.isStoredWhileLocked }
        return known.isEmpty ? self : known
    }
}
