package import CofferBase

/// The services that are reserved for the library's own data, such as database keys and OAuth profiles.
/// Callers cannot store tokens under these services, because the library would mistake such a token for its
/// own data.
package enum ReservedServices {
    /// The prefix of the services of the library's own secrets, compared byte by byte.
    static let prefix = "coffer."
    /// The prefix of the services that hold OAuth profiles; the profile's name follows it.
    package static let oauthProfile = "oauth-profile:"
    /// The prefix of the services that hold an OAuth client's own secrets; the profile's name follows it.
    package static let oauthClient = "oauth-client:"

    /// The prefix of the services that hold the tokens of OAuth sessions; the profile's name follows it.
    /// Programs may read these tokens, and the library of the sessions stores them; see
    /// ``checkIsWritable(_:)``.
    package static let oauth = "oauth:"
    /// The end of the services that hold the state of an OAuth session.
    package static let grantSuffix = "#grant"
    /// The end of the services that hold tokens that are to be revoked.
    package static let revokeSuffix = "#revoke"

    private static let prefixes = [prefix, oauthProfile, oauthClient]

    /// Returns what makes a service a reserved one; `nil` if it is not reserved.
    private static func form(of service: String) -> String? {
        if let prefix = prefixes.first(where: { service.utf8.starts(with: $0.utf8) }) {
            return "begin with \"\(prefix)\""
        }
        guard service.utf8.starts(with: oauth.utf8),
            let suffix = [grantSuffix, revokeSuffix].first(where: { service.utf8.hasSuffix($0) })
        else { return nil }
        return "begin with \"\(oauth)\" and end with \"\(suffix)\""
    }

    /// Returns whether a service holds a profile, a client's secrets or what belongs to OAuth sessions.
    static func isOfSessions(_ service: String) -> Bool {
        [oauth, oauthProfile, oauthClient].contains { service.utf8.starts(with: $0.utf8) }
    }

    static func contains(_ service: String) -> Bool { form(of: service) != nil }

    /// Returns whether a user may store the token under its name; see ``checkIsWritable(_:)``.
    static func isWritable(_ id: TokenID) -> Bool { (try? checkIsWritable(id)) != nil }

    /// Throws `refused` if a user must not store the token under its name: the service is reserved, or it is
    /// that of an OAuth session, which a token from elsewhere would break.
    package static func checkIsWritable(_ id: TokenID) throws(CofferError) {
        try check(id)
        guard id.service.utf8.hasPrefix(oauth) else { return }
        throw CofferError(
            .refused,
            "Service names that begin with \"\(oauth)\" are reserved for the tokens of sessions at OAuth "
                + "servers. Choose another service name.")
    }

    /// Throws `refused` if the token's service is reserved.
    package static func check(_ id: TokenID) throws(CofferError) {
        guard let form = form(of: id.service) else { return }
        throw CofferError(
            .refused, "Service names that \(form) are reserved for the library. Choose another service name.")
    }
}
