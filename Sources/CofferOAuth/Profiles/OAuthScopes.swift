import CofferBase

/// The scopes of OAuth tokens, and those that include others on the servers of the documents.
public enum OAuthScopes {
    private static let implied: [String: [String]] = ["api": ["chatter_api"], "web": ["visualforce"]]
    private static let known = ["api", "chatter_api", "id", "visualforce", "web"]
    private static let refreshToken = "refresh_token"
    private static let full = "full"

    /// Throws `invalidInput` unless every text can be a scope of RFC 6749.
    static func check(_ scopes: [String]) throws(CofferError) {
        let areScopes = scopes.allSatisfy { scope in
            (1...256).contains(scope.utf8.count)
                && scope.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        }
        guard areScopes, scopes.count <= 256 else {
            throw CofferError(
                .invalidInput,
                "There may be at most 256 scopes, each of 1 to 256 printable ASCII characters other than "
                    + "spaces, quotation marks and backslashes.")
        }
    }

    /// Returns the scopes that these scopes include: themselves, `chatter_api` with `api`, `visualforce` with
    /// `web`, and with `full` everything but `refresh_token`.
    ///
    /// - Parameter scopes: The scopes.
    /// - Returns: The scopes and those that they include.
    public static func closure(of scopes: [String]) -> Set<String> {
        var all = Set(scopes)
        if all.contains(full) { all.formUnion(known) }
        for scope in scopes { all.formUnion(implied[scope] ?? []) }
        return all
    }

    /// Returns whether the granted scopes include a wanted one.
    ///
    /// - Parameters:
    ///   - wanted: The wanted scope.
    ///   - granted: The granted scopes.
    /// - Returns: Whether a request that needs the wanted scope is covered.
    public static func covers(_ wanted: String, by granted: [String]) -> Bool {
        if wanted == refreshToken { return granted.contains(refreshToken) }
        return granted.contains(full) || closure(of: granted).contains(wanted)
    }

    /// A scope list that probably does not do what was meant.
    public enum Warning: Sendable, Hashable {
        /// The scopes contain `full`, which gives no refresh token, but not `refresh_token`: the user must
        /// sign in again whenever the access token expires.
        case fullWithoutRefreshToken
    }

    /// Returns the warnings about scopes for a sign-in.
    ///
    /// - Parameter scopes: The scopes.
    /// - Returns: The warnings; none if the scopes are fine.
    public static func warnings(about scopes: [String]) -> [Warning] {
        scopes.contains(full) && !scopes.contains(refreshToken) ? [.fullWithoutRefreshToken] : []
    }
}
