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

    private static let prefixes = [prefix, oauthProfile, oauthClient]

    private static func matching(_ service: String) -> String? {
        prefixes.first { service.utf8.starts(with: $0.utf8) }
    }

    static func contains(_ service: String) -> Bool { matching(service) != nil }

    /// Throws `refused` if the token's service is reserved.
    package static func check(_ id: TokenID) throws(CofferError) {
        guard let prefix = matching(id.service) else { return }
        throw CofferError(
            .refused,
            "Service names that begin with \"\(prefix)\" are reserved for the library. Choose another "
                + "service name.")
    }
}
