import CofferBase
import CofferCrypto

/// The client and the endpoint to which a session's tokens belong.
extension GrantRecord {
    /// Notes the client and the endpoint of a sign-in.
    mutating func note(_ endpoints: ServerEndpoints) throws(CofferError) {
        clientID = endpoints.profile.clientID
        tokenEndpoint = try endpoints.url(.token).text
        certificateDigest = try Self.certificateDigest(of: endpoints)
    }

    /// Returns the name of what differs from the sign-in; `nil` if nothing does, as far as it is known.
    func change(to endpoints: ServerEndpoints) throws(CofferError) -> String? {
        if let clientID, !clientID.hasSameBytes(as: endpoints.profile.clientID) { return "client ID" }
        // Without an endpoint, nothing is sent.
        if let tokenEndpoint, let now = try? endpoints.url(.token).text, !tokenEndpoint.hasSameBytes(as: now)
        {
            return "token endpoint"
        }
        if let certificateDigest {
            let now = try Self.certificateDigest(of: endpoints) ?? ""
            if !certificateDigest.hasSameBytes(as: now) { return "client certificate" }
        }
        return nil
    }

    private static func certificateDigest(of endpoints: ServerEndpoints) throws(CofferError) -> String? {
        guard let certificate = endpoints.security.clientCertificate else { return nil }
        let chain = certificate.chain
        return HexText.encode(try Digest.sha256.hash(chain.span))
    }
}
