import CofferBase

/// The answers of a server that mean more than the standards say.
public struct ServerQuirks: Sendable, Hashable {
    /// Error codes of the token endpoint that mean the same as `invalid_grant`.
    public var revokedCodes: [String]
    /// Error codes with which a resource server's status 403 means that the access token is to be renewed.
    public var renewalCodes: [String]
    /// Whether a status 403 without any code means that the access token is to be renewed.
    public var renewsOnBareForbidden: Bool
    /// A page that a redirect leads to when the access token is to be renewed: any URL that begins with this
    /// origin and path.
    public var signInPage: HTTPSURL?

    /// Creates a set of quirks.
    ///
    /// - Parameters:
    ///   - revokedCodes: Error codes that mean the same as `invalid_grant`.
    ///   - renewalCodes: Error codes that mean that the access token is to be renewed.
    ///   - renewsOnBareForbidden: Whether a status 403 without a code means the same.
    ///   - signInPage: The page to which a redirect means the same.
    public init(
        revokedCodes: [String] = [], renewalCodes: [String] = [], renewsOnBareForbidden: Bool = false,
        signInPage: HTTPSURL? = nil
    ) {
        self.revokedCodes = revokedCodes
        self.renewalCodes = renewalCodes
        self.renewsOnBareForbidden = renewsOnBareForbidden
        self.signInPage = signInPage
    }

    /// Throws `invalidInput` if a code is not a code.
    func check() throws(CofferError) {
        let codes = revokedCodes + renewalCodes
        let areCodes = codes.allSatisfy { code in
            (1...64).contains(code.utf8.count)
                && code.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        }
        guard codes.count <= 64, areCodes else {
            throw CofferError(
                .invalidInput,
                "There may be at most 64 error codes of a server, each of 1 to 64 printable ASCII "
                    + "characters.")
        }
    }
}
