public import CofferBase

/// The answer to a pushed authorization request (RFC 9126 section 2.2).
public struct PushedAuthorizationResponse: Sendable, Hashable {
    /// The reference to send to the authorization endpoint: 1 to 2048 visible ASCII characters.
    public let requestURI: String
    /// The life of the reference in seconds, at most ten minutes.
    public let lifetime: Int

    /// The longest life of a reference that is used: a sign-in is abandoned after ten minutes.
    public static let maxLifetime = 600

    /// Reads an answer.
    ///
    /// - Parameter answer: The answer. RFC 9126 demands status 201; some servers send 200.
    /// - Throws: `serverMalformed` if a member is missing or invalid; `serverRefused` with the server's code;
    ///   `serverUnreachable` if the same request can succeed later.
    public init(_ answer: HTTPResponse) throws(CofferError) {
        try answer.requireSuccess()
        guard [200, 201].contains(answer.status), let object = try answer.json()?.root,
            let uri = try object.text("request_uri", limit: 2048), WireText.isVisible(uri),
            let lifetime = try object.integer("expires_in"), lifetime > 0
        else {
            throw CofferError(.serverMalformed, "The answer to the pushed authorization request is invalid.")
        }
        requestURI = uri
        self.lifetime = Int(min(lifetime, Int64(Self.maxLifetime)))
    }
}
