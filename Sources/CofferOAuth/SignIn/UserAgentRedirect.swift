package import CofferBase
package import CofferCrypto
import CofferEngine

/// The answer of the user-agent flow: tokens in the fragment of a pasted address.
///
/// This flow is weak: the tokens pass through the browser, its history and the clipboard, nothing binds them
/// to this client, and RFC 9700 section 2.1.2 advises against it. It exists for servers that offer nothing
/// else, and a caller must allow it explicitly.
package final class UserAgentRedirect: Sendable {
    /// Whether the caller accepts the weak flow.
    package enum Consent: Sendable {
        /// The flow is refused.
        case refused
        /// The flow is allowed, although it is weak.
        case acceptsWeakFlow
    }

    /// The access token.
    package let accessToken: SecretBytes
    /// The refresh token, or `nil` if the server sent none.
    package let refreshToken: SecretBytes?
    /// The type of the token, such as `Bearer`.
    package let tokenType: String
    /// The life of the access token in whole seconds, or `nil` if the server does not state it.
    package let expiresIn: Int64?
    /// The granted scopes, or `nil` if the server does not state them.
    package let scope: String?
    /// The identity URL, or `nil` if the server sent none.
    package let identityURL: HTTPSURL?
    /// The URL of the server for requests, or `nil` if the server sent none.
    package let instanceURL: HTTPSURL?

    /// The values of an answer that are not secret.
    private struct Details {
        let tokenType: String
        let expiresIn: Int64?
        let scope: String?
        let identityURL: HTTPSURL?
        let instanceURL: HTTPSURL?
    }

    private init(
        _ details: Details, accessToken: consuming SecretBytes, refreshToken: consuming SecretBytes?
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        tokenType = details.tokenType
        expiresIn = details.expiresIn
        scope = details.scope
        identityURL = details.identityURL
        instanceURL = details.instanceURL
    }

    /// Parses a pasted answer of the user-agent flow.
    ///
    /// - Parameters:
    ///   - text: The whole address, or only its fragment. White space at both ends is ignored.
    ///   - request: The request that the redirect answers.
    ///   - consent: Whether the caller accepts the weak flow.
    /// - Returns: The tokens.
    /// - Throws: `refused` without consent; `invalidInput`, `redirectRefused`, `timedOut`, `stateMismatch`,
    ///   `issuerMismatch`; `serverRefused` if the server refused the request.
    package static func parse(
        _ text: borrowing SecretBytes, for request: AuthorizationRequest, consent: Consent = .refused
    ) throws(CofferError) -> UserAgentRedirect {
        guard consent == .acceptsWeakFlow else {
            throw CofferError(
                .refused, "Tokens in the address of a page are refused, because that sign-in is weak.")
        }
        try request.checkTime(now: Clock.sinceBoot)
        let bytes = text.guarded.span
        let fragment = try PastedRedirect.part(of: bytes, after: "#", request.contents.redirectURI)
        let parameters = try RedirectParameters.parse(bytes.extracting(fragment))
        try AuthorizationRedirect.checkState(parameters, request)
        _ = try AuthorizationRedirect.checkedIssuer(parameters, request)
        if parameters.has("error") {
            guard !parameters.has("access_token"), let code = try parameters.printable("error") else {
                throw RedirectParameters.refused("it contains both a token and an error")
            }
            throw CofferError(.serverRefused, "The server refused the sign-in: \(code).", serverCode: code)
        }
        guard !parameters.has("code") else {
            throw RedirectParameters.refused("it contains both a token and a code")
        }
        let details = try details(of: parameters)
        guard let token = try parameters.secret("access_token"), isToken(token) else {
            throw RedirectParameters.refused("its access token is missing or invalid")
        }
        let refreshToken = try parameters.secret("refresh_token")
        let isValid =
            switch refreshToken {
            case .some(let refreshToken): isToken(refreshToken)
            case .none: true
            }
        guard isValid else { throw RedirectParameters.refused("its refresh token is invalid") }
        return UserAgentRedirect(details, accessToken: token, refreshToken: refreshToken)
    }

    private static func details(
        of parameters: borrowing RedirectParameters
    ) throws(CofferError) -> Details {
        let tokenType = try parameters.printable("token_type") ?? ""
        guard tokenType.foldedASCII.hasSameBytes(as: "bearer") else {
            throw RedirectParameters.refused("its token is not a bearer token")
        }
        return Details(
            tokenType: tokenType, expiresIn: try seconds(try parameters.bytes("expires_in")),
            scope: try scope(try parameters.bytes("scope")), identityURL: try url(try parameters.bytes("id")),
            instanceURL: try url(try parameters.bytes("instance_url")))
    }

    private static func isToken(_ token: borrowing SecretBytes) -> Bool {
        token.count > 0
            && RedirectRequest.allSatisfy(
                token.guarded.span, 0..<token.count, { (0x21...0x7E).contains($0) })
    }

    private static func seconds(_ bytes: [UInt8]?) throws(CofferError) -> Int64? {
        guard let bytes else { return nil }
        guard bytes.count <= 10, bytes.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int64(String(decoding: bytes, as: UTF8.self))
        else { throw RedirectParameters.refused("the life of its token is invalid") }
        return seconds
    }

    private static func scope(_ bytes: [UInt8]?) throws(CofferError) -> String? {
        guard let bytes else { return nil }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw RedirectParameters.refused("its scope is invalid")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func url(_ bytes: [UInt8]?) throws(CofferError) -> HTTPSURL? {
        guard let bytes else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RedirectParameters.refused("a URL in it is invalid")
        }
        return try HTTPSURL(text)
    }
}
