package import Coffer
package import CofferBase
import CofferCrypto

/// The use of one session's access tokens: they go to the profile's resource hosts and to no other host.
package struct ResourceClient: Sendable {
    /// The hosts that a request may go to.
    enum Audience {
        /// The profile's resource hosts.
        case resources
        /// The profile's resource hosts, its issuer and its endpoints, for documents about the user.
        case identity
    }

    let endpoints: ServerEndpoints
    let source: any AccessTokenSource
    /// Waits; returns `false` if the task was cancelled.
    let pause: @Sendable (Duration) async -> Bool

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - endpoints: The profile's server, with the key to which the session's tokens are bound.
    ///   - source: The session's access tokens.
    ///   - pause: Waits; returns `false` if the task was cancelled.
    package init(
        _ endpoints: ServerEndpoints, source: any AccessTokenSource,
        pause: @escaping @Sendable (Duration) async -> Bool = { time in
            (try? await Task.sleep(for: time, clock: .continuous)) != nil
        }
    ) {
        self.endpoints = endpoints
        self.source = source
        self.pause = pause
    }

    var profile: OAuthProfile { endpoints.profile }
    var sign: RenewalSign { RenewalSign(profile.quirks) }

    // MARK: Hosts

    /// Returns whether the access token may be sent to a URL.
    func allows(_ url: HTTPSURL, for audience: Audience) -> Bool {
        switch audience {
        case .resources: profile.allows(url)
        case .identity: profile.allows(url) || isServer(url)
        }
    }

    /// Whether a URL belongs to the authorization server.
    func isServer(_ url: HTTPSURL) -> Bool {
        let own = [profile.issuer] + Array((profile.endpoints ?? PinnedEndpoints()).urls.values)
        return own.contains { $0.origin.hasSameBytes(as: url.origin) }
    }

    private func check(_ url: HTTPSURL, for audience: Audience) throws(CofferError) {
        guard allows(url, for: audience) else {
            throw CofferError(
                .hostRefused,
                "The host \(url.origin) is not among the resource hosts of the profile \(profile.name), so "
                    + "it does not receive the access token.", remedy: .allowHost)
        }
    }

    /// The rules for a connection. The pinned keys are those of the authorization server.
    private func security(for url: HTTPSURL) -> TransportSecurity {
        var rules = endpoints.security
        if !isServer(url) { rules.pins = [] }
        return rules
    }

    // MARK: Requests

    /// Calls `body` with an access token for a URL.
    ///
    /// - Parameters:
    ///   - url: The URL that the token is for.
    ///   - minimumLife: The time for which the token must be valid.
    ///   - body: A closure that receives the token and its description.
    /// - Returns: The result of `body`.
    /// - Throws: `hostRefused` if the profile does not list the URL's host and port; the errors of the
    ///   session; the error that `body` throws.
    package func withAccessToken<Result>(
        for url: HTTPSURL, minimumLife: Duration = .seconds(30),
        _ body: (_ token: Token, _ info: TokenInfo) async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        try check(url, for: .resources)
        let live = try await source.current(minimumLife: minimumLife)
        return try await body(live.token, live.info)
    }

    /// Sends a request with an access token. If the server says that the token is no longer valid, the token
    /// is renewed once and the request is sent once more.
    ///
    /// A redirect is returned and not followed. A second refusal is returned, too.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limits: The limits of the response.
    ///   - sink: The destination of the body of a success; `nil` to keep it in memory. It receives
    ///     ``DownloadSink/discard()`` if there is nothing to keep.
    /// - Returns: The response, without its body if a sink received it.
    /// - Throws: `hostRefused` if the profile does not list the URL's host and port; `serverUnreachable` if
    ///   a sink was to receive a body that is incomplete; the errors of the session, the transport and the
    ///   sink.
    package func send(
        _ request: OAuthRequest, limits: HTTPLimits = .resource,
        to sink: (any DownloadSink)? = nil
    ) async throws(CofferError) -> HTTPResponse {
        let response: HTTPResponse
        do throws(CofferError) {
            response = try await answer(to: request, limits)
        } catch {
            sink?.discard()
            throw error
        }
        guard let sink else { return response }
        return try Self.deliver(response, to: sink)
    }

    private func answer(
        to request: OAuthRequest, _ limits: HTTPLimits
    ) async throws(CofferError) -> HTTPResponse {
        // Before a renewal: nothing is spent on a request that is refused here.
        try check(request.url, for: .resources)
        let live = try await source.current(minimumLife: .zero)
        let first = try await exchange(request, live.token, limits, for: .resources)
        guard !live.isRenewalTried, sign.isPresent(in: first, from: request.url) else { return first }
        let renewed = try await source.renewed(after: live)
        return try await exchange(request, renewed.token, limits, for: .resources)
    }

    /// Sends a request once. Every access token that leaves goes through here.
    func exchange(
        _ request: OAuthRequest, _ token: Token, _ limits: HTTPLimits, for audience: Audience
    ) async throws(CofferError) -> HTTPResponse {
        try check(request.url, for: audience)
        var headers: [HTTPField] = []
        for field in request.headers {
            headers.append(try HTTPField(name: field.name, value: field.value))
        }
        let body: SecretBytes?
        if request.bodyCount == nil {
            body = nil
        } else {
            body = try request.copyBody()
        }
        return try await endpoints.send(
            HTTPRequest(
                method: request.method, url: request.url, headers: headers, body: body, limits: limits,
                security: security(for: request.url)), with: token)
    }

    /// Gives the body of a success to a sink, and tells the sink to discard anything else.
    private static func deliver(
        _ response: HTTPResponse, to sink: any DownloadSink
    ) throws(CofferError) -> HTTPResponse {
        guard response.isSuccess else {
            sink.discard()
            return response
        }
        do throws(CofferError) {
            guard response.isComplete else {
                throw CofferError(
                    .serverUnreachable, "The connection ended before the whole body had arrived.")
            }
            try response.body.exposing { (bytes) throws(CofferError) in try sink.write(bytes) }
        } catch {
            sink.discard()
            throw error
        }
        try sink.finish()
        return HTTPResponse(
            status: response.status, headers: response.headers, body: try SecretBytes.copying(""))
    }
}
