public import Coffer
public import CofferBase

/// A session at a server: the right of one account to use a profile's resources.
///
/// A value contains no tokens. Each call reads what the vault contains at that time, and renews the access
/// token if it is due. Among all tasks and processes, one renews it, and the others wait for it.
public struct Grant: Sendable {
    let context: OAuthContext
    let id: GrantID

    /// The profile's name.
    public var profile: String { id.profile }
    /// The account.
    public var account: String { id.account }

    /// Returns the session's state.
    ///
    /// - Throws: `signInNeeded` if there is no session; `corrupt`, `unsupportedVersion`, `locked` or `wiped`.
    package func record() async throws(CofferError) -> GrantRecord {
        guard let record = try await context.grants.record(id) else { throw GrantStore.signInNeeded }
        return record
    }

    /// Returns the session's state as its next use would find it: a session whose time is over counts as
    /// expired. Nothing is sent or changed.
    ///
    /// - Throws: The errors of ``record()``.
    package func currentRecord() async throws(CofferError) -> GrantRecord {
        var record = try await record()
        // The state of a session whose profile is gone is still shown.
        guard record.obstacle == nil, let profile = try? await context.profile(id.profile) else {
            return record
        }
        let access = try? await context.grants.accessToken(id, of: record)
        let isRenewal = access?.isDue(context.clock) ?? true
        let hasEnded = ([profile.policy] + context.policies).contains {
            $0.hasEnded(record, isRenewal: isRenewal, clock: context.clock)
        }
        if hasEnded { record.state = .expired }
        return record
    }

    // MARK: Use

    /// Calls `body` with an access token for a URL.
    ///
    /// - Parameters:
    ///   - url: The URL that the token is for. Its host must be among the profile's resource hosts.
    ///   - minimumLife: The time for which the token must be valid.
    ///   - body: A closure that receives the token and its description. Copies that it makes of the token are
    ///     not guarded.
    /// - Returns: The result of `body`.
    /// - Throws: `hostRefused` if the profile does not list the URL's host and port; `signInNeeded`,
    ///   `sessionLost` or `tokenRevoked` if the session has ended; `serverUnreachable` or `serverRefused` if
    ///   a token that is due cannot be renewed; `locked` or `wiped`; the error that `body` throws.
    public func withAccessToken<Result>(
        for url: HTTPSURL, minimumLife: Duration = .seconds(30),
        _ body: (_ token: Token, _ info: TokenInfo) async throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        try await session().client.withAccessToken(for: url, minimumLife: minimumLife, body)
    }

    /// Returns an access token, renewed if it is due, for a caller that hands it to another program.
    ///
    /// - Parameter minimumLife: The time for which the token must be valid.
    /// - Returns: The token, and whether each request with it needs a proof of the session's key.
    /// - Throws: The errors of ``withAccessToken(for:minimumLife:_:)`` but `hostRefused`.
    package func accessToken(
        minimumLife: Duration = .seconds(30)
    ) async throws(CofferError) -> (token: LiveToken, isBound: Bool) {
        let session = try await session()
        let token = try await session.client.source.current(minimumLife: minimumLife)
        return (token, session.record.hasDPoPKey)
    }

    /// Sends a request with an access token. If the server says that the token is no longer valid, the token
    /// is renewed once and the request is sent once more.
    ///
    /// A redirect is returned and not followed. A second refusal is returned, too.
    ///
    /// - Parameters:
    ///   - request: The request. The host of its URL must be among the profile's resource hosts.
    ///   - limits: The limits of the response.
    ///   - sink: The destination of the body of a success; `nil` to keep it in memory.
    /// - Returns: The response, without its body if a sink received it.
    /// - Throws: `hostRefused` if the profile does not list the URL's host and port; `serverUnreachable` or
    ///   `timedOut` if no answer came; `certificateRefused`; the errors of the session and of the sink.
    public func send(
        _ request: OAuthRequest, limits: HTTPLimits = .resource,
        to sink: (any DownloadSink)? = nil
    ) async throws(CofferError) -> HTTPResponse {
        try await session().client.send(request, limits: limits, to: sink)
    }

    /// Returns an access token with fewer rights, for one page or one service. The token is in memory only.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the new token; empty for those of the session.
    ///   - resource: The resource that the new token is for; `nil` for none in particular.
    ///   - audience: The name of the service that the new token is for; `nil` for none.
    /// - Returns: The token.
    /// - Throws: `invalidInput` if nothing makes the new token narrower; `hostRefused` if the profile does
    ///   not list the resource's host; `serverRefused` if the server does not exchange tokens;
    ///   `serverMalformed` if the new token has more rights than were asked for; the errors of the session.
    public func derived(
        scopes: [String] = [], resource: HTTPSURL? = nil, audience: String? = nil
    ) async throws(CofferError) -> DerivedToken {
        let pool = context.pools.pool(id, in: context.vault, clock: context.clock)
        return try await session().client.derived(
            scopes: scopes, resource: resource, audience: audience, in: pool)
    }

    /// Returns what the server says about the user. A deactivated user's session counts as revoked if the
    /// identity URL says so twice, a second apart.
    ///
    /// - Returns: The document.
    /// - Throws: `unsupported` if the server has no identity URL; `hostRefused` or `redirectRefused` if the
    ///   access token must not be sent there; `tokenRevoked` if the user is not active; `serverRefused` with
    ///   the server's code; `serverMalformed`, `serverUnreachable`; the errors of the session.
    public func identity() async throws(CofferError) -> IdentityResponse {
        let session = try await session()
        return try await session.client.identity(of: session.record)
    }

    /// Asks the server for the state of the session's access token (RFC 7662).
    ///
    /// - Returns: The state.
    /// - Throws: `unsupported` if the profile has no endpoint for it; `serverRefused`, `serverMalformed`,
    ///   `serverUnreachable`; the errors of the session.
    public func introspect() async throws(CofferError) -> IntrospectionResponse {
        try await session().client.introspect()
    }

    /// Starts a session and reports the steps, for an application that shows them. With a live access token,
    /// nothing is sent.
    ///
    /// - Parameter hasCachedData: Whether the application has data with which it can start offline.
    /// - Returns: The steps.
    /// - Throws: `signInNeeded` if there is no session; `locked`, `wiped` or `corrupt`.
    public func start(hasCachedData: Bool) async throws(CofferError) -> AsyncStream<SessionStatus> {
        try await session().client.start(hasCachedData: hasCachedData)
    }

    // MARK: Renewal and end

    /// Renews the tokens now.
    ///
    /// - Throws: `serverUnreachable` if no complete answer came, after which the next call sends the same
    ///   refresh token again; `serverRefused` if the server refused for another reason than the session;
    ///   `signInNeeded`, `sessionLost` or `tokenRevoked` if the session has ended; `locked`, `wiped`, `busy`,
    ///   `noSpace` or `readOnly`, after which nothing was spent.
    public func refresh() async throws(CofferError) {
        let session = try await session()
        let outcome = try await session.machine.run(id, endpoint: session.endpoints, need: .always)
        if let error = outcome.error { throw error }
        _ = try? await PendingRevocations(context.grants, clock: context.clock)
            .retry(id, at: session.endpoints)
    }

    /// Signs the session out: here first, then at the server. Without a network, the tokens are revoked when
    /// the server is reached.
    ///
    /// - Parameter options: What to do beside removing the session.
    /// - Returns: The receipt.
    /// - Throws: `timedOut` if a renewal of the session does not end; `locked`, `wiped`, `busy`, `noSpace` or
    ///   `readOnly`, after which the next call continues; `wrongPasscode` or `attemptDelayed` for the
    ///   passcode in the options.
    @discardableResult
    public func logOut(_ options: LogoutOptions = LogoutOptions()) async throws(CofferError) -> LogoutReceipt
    {
        context.pools.drop(id)
        try await context.sessionEnd.resume(id)
        // A profile that is gone or damaged keeps nobody signed in.
        return try await Logout(context.grants, clock: context.clock, events: context.events)
            .run(id, options, at: try? await context.server(of: id.profile))
    }
}

extension Grant {
    /// The parts that use a session.
    private struct Session {
        let record: GrantRecord
        let endpoints: ServerEndpoints
        let machine: RefreshMachine
        let client: ResourceClient
    }

    private func session() async throws(CofferError) -> Session {
        let record = try await record()
        if record.isErasureDue { try await context.sessionEnd.resume(id) }
        let endpoints = try await context.endpoints(of: record, id)
        var machine = RefreshMachine(
            context.grants, profile: endpoints.profile, policies: context.policies, clock: context.clock,
            events: context.events)
        machine.onRevocation = context.onRevocation
        machine.onLost = context.onLost
        machine.onExpiry = context.onExpiry
        machine.check = { (answer: TokenResponse, record: GrantRecord) async throws(CofferError) -> Void in
            try await Self.check(answer, record, endpoints)
        }
        let tokens = SessionTokens(
            id, store: context.grants, machine: machine, endpoint: endpoints, clock: context.clock)
        return Session(
            record: record, endpoints: endpoints, machine: machine,
            client: ResourceClient(endpoints, source: tokens))
    }

    /// Checks an answer to a renewal: the type of the access token, and an id token if there is one.
    private static func check(
        _ answer: TokenResponse, _ record: GrantRecord, _ endpoints: ServerEndpoints
    ) async throws(CofferError) {
        _ = try answer.usableAccessToken()
        guard (answer.tokenType == .dpop) == record.hasDPoPKey else {
            throw CofferError(
                .serverMalformed,
                record.hasDPoPKey
                    ? "The server no longer binds the access token to the session's key."
                    : "The server bound the access token to a key, but the session has none.")
        }
        guard let idToken = answer.idToken else { return }
        // The token came from the token endpoint itself, so its hash of the access token need not be checked
        // (OpenID Connect Core 1.0 sections 3.1.3.8 and 12.2). A server that answers a repeated renewal with
        // the same access token can hash another one.
        _ = try await endpoints.checkedIDToken(
            idToken, accessToken: nil, subject: record.subject)
    }
}
