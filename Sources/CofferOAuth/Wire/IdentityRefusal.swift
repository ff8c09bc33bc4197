import CofferBase

/// An identity service's refusal: one of its ten error codes, with the status that belongs to it.
public enum IdentityRefusal: String, Sendable, Hashable, CaseIterable {
    /// The request came over HTTP.
    case httpsRequired = "HTTPS_Required"
    /// The request has no access token.
    case missingToken = "Missing_OAuth_Token"
    /// The access token is invalid.
    case badToken = "Bad_OAuth_Token"
    /// The user belongs to another organisation.
    case wrongOrganisation = "Wrong_Org"
    /// The user's or the organisation's id is invalid.
    case badID = "Bad_Id"
    /// The user is deactivated or the organisation inactive.
    case inactive = "Inactive"
    /// The user has no access to the organisation or to the information.
    case noAccess = "No_Access"
    /// The request went to the endpoint of a site.
    case noSiteEndpoint = "No_Site_Endpoint"
    /// The version is invalid.
    case invalidVersion = "Invalid_Version"
    /// The name of the callback is invalid.
    case invalidCallback = "Invalid_Callback"

    /// The status of an answer with this code.
    public var status: Int {
        switch self {
        case .httpsRequired, .missingToken, .badToken, .wrongOrganisation: 403
        case .badID, .inactive, .noAccess, .noSiteEndpoint: 404
        case .invalidVersion, .invalidCallback: 406
        }
    }

    /// Whether a new access token can help: renew once.
    public var isAboutToken: Bool { self == .badToken }

    /// Whether the user's access was taken away, which counts as a revocation.
    public var isRevocation: Bool { self == .inactive }

    /// Creates a refusal. The result is `nil` if something of the answer is missing, if its body is none of
    /// the codes byte for byte, or if its status is not the code's: a gateway's 404 never looks like
    /// ``inactive``.
    ///
    /// - Parameter answer: The answer. Its body is the code, alone or as the text `error` of a JSON object,
    ///   with spaces and newlines around it.
    public init?(_ answer: HTTPResponse) {
        guard answer.isWhole, let code = Self.code(answer),
            let refusal = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: code) }),
            refusal.status == answer.status
        else { return nil }
        self = refusal
    }

    private static func code(_ answer: HTTPResponse) -> String? {
        if let json = try? answer.json() { return TokenErrorResponse(json)?.error }
        return answer.onlyWord
    }
}
