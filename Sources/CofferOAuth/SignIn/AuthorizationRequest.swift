public import CofferBase
public import CofferCrypto
import CofferEngine

/// One request for authorization: the parameters that the browser takes to the server, and the values against
/// which the answer is checked.
///
/// The request always uses the authorization code grant with PKCE and `S256` (RFC 7636). `state`, `nonce` and
/// the verifier are 32 random bytes each in guarded memory. They are never stored, and after ten minutes the
/// request accepts no answer.
public final class AuthorizationRequest: Sendable {
    /// The time during which a request accepts an answer.
    public static let lifetime = Duration.seconds(600)
    private static let maxParameterCount = 32

    /// The parameters that this type sets itself or does not permit.
    private static let reservedNames = [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "resource", "response_mode", "request", "request_uri", "client_secret",
        "client_assertion", "client_assertion_type",
    ]

    /// The contents of a request that the profile and the application decide.
    public struct Contents: Sendable {
        /// The issuer that must answer.
        public var issuer: String
        /// Whether the server announces the parameter `iss` (RFC 9207), which is then required.
        public var requiresIssuer: Bool
        /// The client's identifier.
        public var clientID: String
        /// The redirect URI, byte for byte as it is registered.
        public var redirectURI: String
        /// The requested scopes.
        public var scopes: [String]
        /// The URLs of the resources for which the token is (RFC 8707).
        public var resources: [HTTPSURL]
        /// Further parameters, none of which may replace one of this library's own.
        public var extra: [(name: String, value: String)]

        /// Creates the contents of a request.
        ///
        /// - Parameters:
        ///   - issuer: The issuer that must answer.
        ///   - requiresIssuer: Whether the server announces the parameter `iss`.
        ///   - clientID: The client's identifier.
        ///   - redirectURI: The redirect URI.
        ///   - scopes: The requested scopes.
        ///   - resources: The URLs of the resources for which the token is.
        ///   - extra: Further parameters.
        public init(
            issuer: String, requiresIssuer: Bool = false, clientID: String, redirectURI: String,
            scopes: [String] = [], resources: [HTTPSURL] = [],
            extra: [(name: String, value: String)] = []
        ) {
            self.issuer = issuer
            self.requiresIssuer = requiresIssuer
            self.clientID = clientID
            self.redirectURI = redirectURI
            self.scopes = scopes
            self.resources = resources
            self.extra = extra
        }
    }

    /// The contents that the profile and the application decided.
    public let contents: Contents
    /// The proof key, whose verifier goes into the token request.
    public let proofKey: PKCE
    /// The value that the id token must contain. It is sent if the scope `openid` is requested.
    public let nonce: SecretBytes
    let state: SecretBytes
    private let end: Duration

    private init(
        contents: Contents, proofKey: consuming PKCE, nonce: consuming SecretBytes,
        state: consuming SecretBytes, end: Duration
    ) {
        self.contents = contents
        self.proofKey = proofKey
        self.nonce = nonce
        self.state = state
        self.end = end
    }

    /// Creates a request with new random values.
    ///
    /// - Parameter contents: The contents that the profile and the application decide.
    /// - Returns: The request, whose time begins now.
    /// - Throws: `invalidInput` if a parameter is invalid or replaces one of this library's own.
    public static func make(_ contents: Contents) throws(CofferError) -> AuthorizationRequest {
        try make(contents, now: Clock.sinceBoot)
    }

    static func make(_ contents: Contents, now: Duration) throws(CofferError) -> AuthorizationRequest {
        try check(contents)
        return AuthorizationRequest(
            contents: contents, proofKey: try .generate(), nonce: try randomText(), state: try randomText(),
            end: now + lifetime)
    }

    /// Returns 32 random bytes as 43 characters of base64url.
    private static func randomText() throws(CofferError) -> SecretBytes {
        try Base64URL.encode(try SecretBytes.random(count: 32))
    }

    private static func check(_ contents: Contents) throws(CofferError) {
        let isPrintable = { (text: String) in
            !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard isPrintable(contents.issuer) else { throw invalid("The issuer is empty or invalid.") }
        guard !contents.clientID.isEmpty, contents.clientID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw invalid("The client identifier is empty or invalid.") }
        guard isPrintable(contents.redirectURI), !contents.redirectURI.utf8.contains(UInt8(ascii: "#")) else {
            throw invalid("The redirect URI is empty, invalid or has a fragment.")
        }
        // RFC 6749 section 3.3.
        let areScopes = contents.scopes.allSatisfy { scope in
            isPrintable(scope) && scope.utf8.allSatisfy { $0 != 0x22 && $0 != 0x5C }
        }
        guard areScopes else { throw invalid("A scope is empty or contains an invalid character.") }
        guard contents.extra.count <= maxParameterCount, contents.resources.count <= maxParameterCount else {
            throw invalid("There are more than \(maxParameterCount) further parameters.")
        }
        for (index, (name, value)) in contents.extra.enumerated() {
            guard isPrintable(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw invalid("The name or the value of a further parameter is invalid.")
            }
            guard !reservedNames.contains(where: { $0.hasSameBytes(as: name) }) else {
                throw invalid("The parameter \(name) cannot be set.")
            }
            guard !contents.extra[..<index].contains(where: { $0.name.hasSameBytes(as: name) }) else {
                throw invalid("The parameter \(name) is specified more than once.")
            }
        }
    }

    private static func invalid(_ message: String) -> CofferError { CofferError(.invalidInput, message) }

    /// Checks that the request still accepts an answer.
    func checkTime(now: Duration) throws(CofferError) {
        guard now < end else {
            throw CofferError(.timedOut, "The sign-in took longer than ten minutes. Start it again.")
        }
    }

    /// The time that is left for an answer.
    func timeLeft(now: Duration) -> Duration { max(.zero, end - now) }
}

extension AuthorizationRequest {
    private var sendsNonce: Bool { contents.scopes.contains { $0.hasSameBytes(as: "openid") } }

    /// The parameters that are not random.
    private var plainParameters: [(name: String, value: String)] {
        var parameters = [
            (name: "response_type", value: "code"), (name: "client_id", value: contents.clientID),
            (name: "redirect_uri", value: contents.redirectURI),
            (name: "code_challenge", value: proofKey.challenge),
            (name: "code_challenge_method", value: PKCE.method),
        ]
        if !contents.scopes.isEmpty {
            parameters.append((name: "scope", value: contents.scopes.joined(separator: " ")))
        }
        parameters += contents.resources.map { (name: "resource", value: $0.text) }
        return parameters + contents.extra
    }

    /// Returns the URL for the browser. The URL contains `state`, the challenge and perhaps `nonce`, but no
    /// other random value and no secret of the client.
    ///
    /// - Parameter endpoint: The authorization endpoint.
    /// - Returns: The endpoint's URL with the parameters.
    /// - Throws: `invalidInput` if the endpoint's own query contains one of the parameters.
    public func url(endpoint: HTTPSURL) throws(CofferError) -> HTTPSURL {
        try Self.check(endpoint)
        var parameters = plainParameters
        parameters.append((name: "state", value: Self.text(state)))
        if sendsNonce { parameters.append((name: "nonce", value: Self.text(nonce))) }
        return endpoint.appending(query: parameters)
    }

    /// Returns the URL for the browser after the parameters were pushed (RFC 9126).
    ///
    /// - Parameters:
    ///   - endpoint: The authorization endpoint.
    ///   - requestURI: The `request_uri` with which the server answered.
    /// - Returns: The endpoint's URL with the client's identifier and the request URI.
    /// - Throws: `invalidInput` if the endpoint's own query contains one of the parameters;
    ///   `serverMalformed` if the request URI is invalid.
    public func url(endpoint: HTTPSURL, requestURI: String) throws(CofferError) -> HTTPSURL {
        try Self.check(endpoint)
        guard !requestURI.isEmpty, requestURI.utf8.count <= 2048,
            requestURI.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw CofferError(.serverMalformed, "The server sent an invalid request URI.") }
        return endpoint.appending(query: [
            (name: "client_id", value: contents.clientID), (name: "request_uri", value: requestURI),
        ])
    }

    /// Returns the body that pushes the parameters to the server (RFC 9126), in form encoding and without
    /// client authentication.
    ///
    /// - Returns: The body, to which the client's authentication may add parameters.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package func pushedBody() throws(CofferError) -> FormBody {
        var body = try FormBody()
        for (name, value) in plainParameters { try body.append(name, value) }
        try body.append("state", secret: state)
        if sendsNonce { try body.append("nonce", secret: nonce) }
        return body
    }

    /// The text of a random value that the browser must be given.
    private static func text(_ value: borrowing SecretBytes) -> String {
        String(decoding: value.guarded.span.copied(), as: UTF8.self)
    }

    /// A pinned endpoint may have a query of its own, but not with our parameters.
    private static func check(_ endpoint: HTTPSURL) throws(CofferError) {
        guard let query = endpoint.query else { return }
        var found: String?
        do throws(CofferError) {
            let parameters = try RedirectParameters.parse(Array(query.utf8).span)
            for name in reservedNames where parameters.has(name) { found = name }
        } catch {
            throw invalid("The query of the authorization endpoint is invalid.")
        }
        if let found { throw invalid("The authorization endpoint already contains the parameter \(found).") }
    }
}
