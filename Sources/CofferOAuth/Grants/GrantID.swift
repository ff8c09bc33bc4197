package import Coffer
package import CofferBase

/// A session at a server: a profile, and an account of it. Names are compared byte by byte.
package struct GrantID: Hashable, Sendable {
    /// The profile's name.
    package let profile: String
    /// The account's name on this machine.
    package let account: String

    /// Creates an ID.
    package init(profile: String, account: String) {
        self.profile = profile
        self.account = account
    }

    /// Returns whether both IDs have the same bytes. Swift itself compares strings by canonical equivalence.
    package static func == (left: GrantID, right: GrantID) -> Bool {
        left.profile.hasSameBytes(as: right.profile) && left.account.hasSameBytes(as: right.account)
    }

    /// Hashes the same bytes that `==` compares.
    package func hash(into hasher: inout Hasher) {
        for text in [profile, account] { hasher.combine(Array(text.utf8)) }
    }

    /// The tokens' service and account, to which a revocation applies.
    package var tokenAccount: TokenAccount {
        TokenAccount(service: ReservedServices.oauth + profile, account: account)
    }

    /// Returns the name of one of the session's tokens.
    ///
    /// - Throws: `invalidInput` if the profile's name is not a name, or the account is longer than 1024
    ///   bytes.
    package func tokenID(_ kind: TokenKind) throws(CofferError) -> TokenID {
        try row(suffix: "", kind)
    }

    /// The name of the row with the session's state.
    package var grantRow: TokenID {
        get throws(CofferError) { try row(suffix: ReservedServices.grantSuffix, .other) }
    }

    /// The name of the row with the tokens that are to be revoked.
    package var revokeRow: TokenID {
        get throws(CofferError) { try row(suffix: ReservedServices.revokeSuffix, .other) }
    }

    private func row(suffix: String, _ kind: TokenKind) throws(CofferError) -> TokenID {
        try OAuthProfile.check(name: profile)
        return try TokenID(
            service: ReservedServices.oauth + profile + suffix, account: account, kind: kind)
    }

    /// Creates the ID of the session whose row with this suffix has a name; `nil` for any other name.
    init?(row id: TokenID, suffix: String) {
        let prefix = ReservedServices.oauth
        guard id.kind == .other, id.service.utf8.hasPrefix(prefix), id.service.utf8.hasSuffix(suffix) else {
            return nil
        }
        let name = id.service.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        self.init(profile: String(decoding: name, as: UTF8.self), account: id.account)
        guard (try? OAuthProfile.check(name: profile)) != nil else { return nil }
    }
}
