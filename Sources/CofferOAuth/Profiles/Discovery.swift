public import CofferBase
import CofferCrypto
import CofferEngine

/// Asks an authorization server for its discovery document.
public struct Discovery: Sendable {
    private let transport: any OAuthTransport
    private let security: TransportSecurity

    /// Creates a discovery.
    ///
    /// - Parameters:
    ///   - transport: The transport that sends the requests.
    ///   - security: The rules for the connection.
    public init(_ transport: any OAuthTransport, security: TransportSecurity = TransportSecurity()) {
        self.transport = transport
        self.security = security
    }

    /// Returns the description of the server with an issuer.
    ///
    /// The document is looked for by RFC 8414 first, and then by OpenID Connect if the server has no such
    /// document at the first location. Redirects are not followed.
    ///
    /// - Parameter issuer: The issuer.
    /// - Returns: The description.
    /// - Throws: `absent` if the server has no document; `issuerMismatch` if the document names another
    ///   issuer; `serverMalformed` if it is invalid; `redirectRefused` if the server redirects;
    ///   `serverUnreachable` or `timedOut` if no complete answer comes; `certificateRefused`; `invalidInput`
    ///   if the issuer has a query.
    public func metadata(of issuer: HTTPSURL) async throws(CofferError) -> ServerMetadata {
        for url in try ServerMetadata.locations(of: issuer) {
            if let document = try await document(at: url) {
                return try ServerMetadata(parsing: document, issuer: issuer)
            }
        }
        throw CofferError(
            .absent,
            "The server has no discovery document for \(issuer). Compare this issuer with the server's "
                + "documentation; if it is right, the profile needs the server's endpoints.",
            remedy: .enterEndpoint)
    }

    /// Returns the JSON document at a URL; `nil` if there is none.
    private func document(at url: HTTPSURL) async throws(CofferError) -> [UInt8]? {
        let request = HTTPRequest(
            method: .get, url: url, headers: [try HTTPField(name: "Accept", value: "application/json")],
            limits: .discovery, security: security)
        let response = try await transport.exchange(request)
        switch response.status {
        case 200: break
        case 300..<400:
            throw CofferError(
                .redirectRefused, "The server redirects the request for its discovery document.")
        case 400..<500 where !response.isTemporary: return nil
        default:
            throw CofferError(
                .serverUnreachable,
                "The server answered the request for its discovery document with status "
                    + "\(response.status).")
        }
        // Many servers answer unknown paths with a page of their own and status 200.
        guard Self.isJSON(try response.header("content-type")) else { return nil }
        guard response.isWhole else {
            throw CofferError(.serverUnreachable, "The server's discovery document did not come whole.")
        }
        return response.body.exposing { $0.copied() }
    }

    /// Whether a media type is JSON. A missing one counts as JSON, because the parser decides anyway.
    static func isJSON(_ type: String?) -> Bool {
        guard let type else { return true }
        let name = type.parts(between: ";", keepsEmpty: true).first?.foldedASCII ?? ""
        let bytes = name.utf8.filter { $0 != 0x20 && $0 != 0x09 }
        let trimmed = String(decoding: bytes, as: UTF8.self)
        return trimmed.hasSameBytes(as: "application/json")
            || trimmed.utf8.hasPrefix("application/") && trimmed.utf8.hasSuffix("+json")
    }
}
