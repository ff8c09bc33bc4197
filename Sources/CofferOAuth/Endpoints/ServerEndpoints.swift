package import Coffer
package import CofferBase
import CofferCrypto
import CofferEngine

/// The requests to a profile's authorization server. They go only to the endpoints that the profile pins,
/// carry what proves the client's identity, and are never redirected.
package struct ServerEndpoints: Sendable {
    /// The kind of a token, as requests about it name it.
    package enum TokenHint: String, Sendable {
        /// An access token.
        case access = "access_token"
        /// A refresh token.
        case refresh = "refresh_token"

        /// The name of a kind of token; every kind but a refresh token counts as an access token.
        package init(_ kind: TokenKind) { self = kind == .refresh ? .refresh : .access }
    }

    /// The profile.
    package let profile: OAuthProfile
    /// The key to which tokens are bound; `nil` if they are not.
    package let proof: KeyProof?
    /// The difference between the server's clock and this machine's.
    package let time: ServerTime
    /// The rules for connections to the server.
    package let security: TransportSecurity
    let transport: any OAuthTransport
    let keys: ServerKeys
    private let profiles: ProfileStore
    private let clock: VaultClock

    /// Creates the endpoints of a profile. The secret that proves the client's identity is read from the
    /// vault for each request.
    ///
    /// - Parameters:
    ///   - profile: The profile, whose endpoints are pinned.
    ///   - profiles: The profiles of the vault.
    ///   - transport: The transport that sends the requests.
    ///   - clock: The clocks.
    ///   - proof: The key to which tokens are bound; `nil` if they are not.
    ///   - keys: The cache of servers' public keys.
    ///   - time: The difference between the server's clock and this machine's, as far as it is known.
    /// - Returns: The endpoints.
    /// - Throws: `hostRefused` or `refused` if the administrator does not allow the profile; `absent` if the
    ///   client's certificate is not stored; `invalidInput` if the proxy's credentials are invalid; `locked`,
    ///   `wiped` or `corrupt`.
    package static func load(
        _ profile: OAuthProfile, from profiles: ProfileStore, transport: any OAuthTransport,
        clock: VaultClock, proof: KeyProof? = nil, keys: ServerKeys = ServerKeys(),
        time: ServerTime = ServerTime()
    ) async throws(CofferError) -> ServerEndpoints {
        ServerEndpoints(
            profile: profile, proof: proof, time: time, security: try await profiles.security(of: profile),
            transport: transport, keys: keys, profiles: profiles, clock: clock)
    }

    private init(
        profile: OAuthProfile, proof: KeyProof?, time: ServerTime, security: TransportSecurity,
        transport: any OAuthTransport, keys: ServerKeys, profiles: ProfileStore, clock: VaultClock
    ) {
        self.profile = profile
        self.proof = proof
        self.time = time
        self.security = security
        self.transport = transport
        self.keys = keys
        self.profiles = profiles
        self.clock = clock
    }

    /// Returns whether the profile pins an endpoint.
    package func has(_ endpoint: ServerEndpoint) -> Bool {
        profile.endpoints?.url(endpoint, for: profile.authentication) != nil
    }

    /// Returns the pinned URL of an endpoint.
    ///
    /// - Throws: `unsupported` if the profile has none.
    package func url(_ endpoint: ServerEndpoint) throws(CofferError) -> HTTPSURL {
        guard let url = profile.endpoints?.url(endpoint, for: profile.authentication) else {
            throw CofferError(
                .unsupported,
                "The profile \(profile.name) has no \(endpoint.rawValue), because the server announces none.",
                remedy: .enterEndpoint)
        }
        return url
    }

    /// The server's time in seconds since 1970, by this machine's clock and the difference between both.
    package var now: Int64 { localTime + (time.skew ?? 0) }

    /// The time since boot.
    var bootTime: Duration { clock.bootTime() }

    private var localTime: Int64 { clock.wallClock().components.seconds }

    // MARK: Exchanges

    /// Posts a form. If the server refuses it for want of a nonce, or a signature in it for its time, the
    /// form is sent once more for each of these reasons, with a new assertion and a new proof.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - isProven: Whether the request proves the possession of the key, if there is one.
    ///   - makeBody: A closure that returns the form without what proves the client's identity.
    /// - Returns: The response, whatever its status.
    /// - Throws: `unsupported` if the profile has no such endpoint; `absent` or `invalidInput` for the secret
    ///   that proves the client's identity; the errors of the vault, of the transport and of `makeBody`.
    func post(
        _ endpoint: ServerEndpoint, isProven: Bool = false,
        _ makeBody: @Sendable () throws(CofferError) -> FormBody
    ) async throws(CofferError) -> HTTPResponse {
        let url = try url(endpoint)
        let proof = isProven ? self.proof : nil
        var (mayAddNonce, mayCorrectTime) = (true, proof != nil || profile.authentication.isAssertion)
        while true {
            let skew = time.skew ?? 0
            let answer = try await postOnce(endpoint, url, proof, makeBody)
            let demandsNonce = try proof?.learn(from: answer, at: url) ?? false
            if demandsNonce, mayAddNonce {
                mayAddNonce = false
            } else if mayCorrectTime, try isRefused(answer, signedWith: skew) {
                mayCorrectTime = false
            } else {
                return answer
            }
        }
    }

    /// The difference between clocks that servers must be expected to tolerate, in seconds.
    private static let toleratedSkew: Int64 = 30

    /// Returns whether the server may have refused a signature for its time: this machine's clock was set
    /// after the server's time was noted. Such a refusal spends no token.
    private func isRefused(_ answer: HTTPResponse, signedWith skew: Int64) throws(CofferError) -> Bool {
        guard answer.isRefusal, ((time.skew ?? 0) - skew).magnitude > Self.toleratedSkew else { return false }
        let error = try answer.json().flatMap { TokenErrorResponse($0) }
        return error?.isOne(of: ["invalid_client", "invalid_dpop_proof"]) == true
    }

    private func postOnce(
        _ endpoint: ServerEndpoint, _ url: HTTPSURL, _ proof: KeyProof?,
        _ makeBody: @Sendable () throws(CofferError) -> FormBody
    ) async throws(CofferError) -> HTTPResponse {
        let client = try await ClientIdentity.load(for: profile, from: profiles, at: url)
        var body = try makeBody()
        // The parameters that are sent ahead of a sign-in contain the client's ID.
        var headers = try client.authenticate(
            &body, namesClient: endpoint != .pushedAuthorization, now: now)
        headers.append(
            try HTTPField(name: "Content-Type", value: "application/x-www-form-urlencoded"))
        headers += try Self.commonFields()
        if let proof { headers.append(try proof.field(method: .post, url: url, now: now)) }
        return try await exchange(
            HTTPRequest(
                method: .post, url: url, headers: headers, body: body.finish(), limits: .token,
                security: security))
    }

    /// Sends a request to the authorization server and takes the time from the response.
    private func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse {
        let response = try await transport.exchange(request)
        time.learn(from: response, now: localTime)
        return response
    }

    private static func commonFields() throws(CofferError) -> [HTTPField] {
        [
            try HTTPField(name: "Accept", value: "application/json"),
            try HTTPField(name: "Cache-Control", value: "no-store"),
        ]
    }

    /// Sends a request with an access token, and with a proof if the token is bound to the key. If the server
    /// refuses it for want of a nonce, it is sent once more.
    ///
    /// The caller decides whether the URL may receive the token.
    ///
    /// - Parameters:
    ///   - request: The request, without fields that carry tokens.
    ///   - accessToken: The access token.
    /// - Returns: The response, whatever its status.
    /// - Throws: The errors of the transport.
    package func send(
        _ request: HTTPRequest, with accessToken: Token
    ) async throws(CofferError) -> HTTPResponse {
        let token = try SecretBox(copying: accessToken)
        let first = try await transport.exchange(try authorized(request, token))
        guard let proof, try proof.learn(from: first, at: request.url) else { return first }
        let second = try await transport.exchange(try authorized(request, token))
        _ = try proof.learn(from: second, at: request.url)
        return second
    }

    /// Returns a request with an access token and a new proof.
    private func authorized(
        _ request: HTTPRequest, _ accessToken: SecretBox
    ) throws(CofferError) -> HTTPRequest {
        var request = request
        let scheme = Array((proof == nil ? "Bearer " : "DPoP ").utf8)
        request.headers.append(
            HTTPField(
                name: "Authorization",
                value: try accessToken.bytes.exposing { (bytes) throws(CofferError) -> SecretBytes in
                    SecretBytes(try GuardedBytes.concatenating(scheme.span, bytes))
                }))
        if let proof {
            request.headers.append(
                try proof.field(
                    method: request.method, url: request.url, now: now, accessToken: accessToken))
        }
        return request
    }

    /// Returns the body of a JSON document of the server's that is not secret.
    ///
    /// - Throws: `unsupported` if the profile has no such endpoint; `serverUnreachable`, `redirectRefused` or
    ///   `serverRefused` if the answer is not a success; the errors of the transport.
    func document(_ endpoint: ServerEndpoint, limits: HTTPLimits) async throws(CofferError) -> [UInt8] {
        let request = HTTPRequest(
            method: .get, url: try url(endpoint), headers: try Self.commonFields(), limits: limits,
            security: security)
        let response = try await exchange(request)
        try response.requireSuccess()
        return response.body.exposing { $0.copied() }
    }
}
