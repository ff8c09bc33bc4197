/// The endpoints of a server that a profile accepts, and what the server announces about them.
public struct PinnedEndpoints: Sendable, Equatable {
    /// The URL of each endpoint that the server has.
    public var urls: [ServerEndpoint: HTTPSURL]
    /// The URLs that replace those of ``urls`` for a client with a certificate (RFC 8705).
    public var mutualTLSAliases: [ServerEndpoint: HTTPSURL]
    /// Whether each redirect back from the server must name the issuer (RFC 9207).
    public var requiresIssuerInRedirect: Bool
    /// Whether the parameters of a sign-in must be sent ahead of it.
    public var requiresPushedAuthorization: Bool
    /// Whether the server binds tokens to a key for ES256 (DPoP, RFC 9449).
    public var offersKeyProof: Bool

    /// Creates a set of endpoints.
    ///
    /// - Parameters:
    ///   - urls: The URL of each endpoint that the server has.
    ///   - mutualTLSAliases: The URLs for a client with a certificate.
    ///   - requiresIssuerInRedirect: Whether each redirect back must name the issuer.
    ///   - requiresPushedAuthorization: Whether the parameters of a sign-in must be sent ahead of it.
    ///   - offersKeyProof: Whether the server binds tokens to a key for ES256.
    public init(
        _ urls: [ServerEndpoint: HTTPSURL] = [:], mutualTLSAliases: [ServerEndpoint: HTTPSURL] = [:],
        requiresIssuerInRedirect: Bool = false, requiresPushedAuthorization: Bool = false,
        offersKeyProof: Bool = false
    ) {
        self.urls = urls
        self.mutualTLSAliases = mutualTLSAliases
        self.requiresIssuerInRedirect = requiresIssuerInRedirect
        self.requiresPushedAuthorization = requiresPushedAuthorization
        self.offersKeyProof = offersKeyProof
    }

    /// Returns the URL of an endpoint; `nil` if the server does not have the endpoint.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - authentication: The way in which the client authenticates itself.
    /// - Returns: The alias for a client with a certificate, if there is one; otherwise the URL.
    public func url(_ endpoint: ServerEndpoint, for authentication: ClientAuthentication) -> HTTPSURL? {
        let alias = authentication == .mutualTLS ? mutualTLSAliases[endpoint] : nil
        return alias ?? urls[endpoint]
    }

    /// Returns the names of the members in which two sets differ, in order.
    func differences(from other: PinnedEndpoints) -> [String] {
        var names: [String] = []
        for endpoint in ServerEndpoint.allCases
        where urls[endpoint] != other.urls[endpoint]
            || mutualTLSAliases[endpoint] != other.mutualTLSAliases[endpoint]
        {
            names.append(endpoint.rawValue)
        }
        if requiresIssuerInRedirect != other.requiresIssuerInRedirect {
            names.append("authorization_response_iss_parameter_supported")
        }
        if requiresPushedAuthorization != other.requiresPushedAuthorization {
            names.append("require_pushed_authorization_requests")
        }
        if offersKeyProof != other.offersKeyProof { names.append("dpop_signing_alg_values_supported") }
        return names
    }

    /// Returns these endpoints with those of `other` where these have none. A server's document often leaves
    /// out endpoints that the server has, and such endpoints are entered by hand.
    func completed(from other: PinnedEndpoints) -> PinnedEndpoints {
        var all = self
        all.urls.merge(other.urls) { own, _ in own }
        all.mutualTLSAliases.merge(other.mutualTLSAliases) { own, _ in own }
        return all
    }
}
