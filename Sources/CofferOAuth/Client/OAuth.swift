public import Coffer
public import CofferBase

/// The OAuth sessions of a vault: signs in, keeps tokens fresh, uses them and takes them back.
///
/// ```swift
/// let oauth = try await OAuth(vault)
/// try await oauth.add(
///     OAuthProfile(
///         "work", issuer: "https://login.example.org", clientID: "desktop", scopes: ["api"],
///         resourceHosts: ["api.example.org"]))
/// let grant = try await oauth.signIn("work", account: "ada", by: .browser) { prompt in show(prompt) }
/// let answer = try await grant.send(OAuthRequest(.get, HTTPSURL("https://api.example.org/me")))
/// ```
///
/// Everything is stored in the vault and locked and wiped with it. Several values of this type, in one or in
/// several processes, can use the same vault: each renewal happens once.
public actor OAuth {
    /// The vault's profiles.
    public nonisolated let profiles: ProfileStore
    nonisolated let context: OAuthContext
    private var accountsInProgress: Set<GrantID> = []

    /// Creates the sessions of a vault, under the administrator's configuration of this machine.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - transport: The transport that sends the requests.
    ///   - browser: The launcher of the user's browser.
    ///   - onRevocation: The response if the server revoked a session. By default, the data of its account
    ///     is erased.
    ///   - onLost: The response if a session is lost. By default, the vault is locked.
    ///   - onExpiry: The response if a session's time is over. By default, only its tokens are removed.
    ///     Nothing is erased if the time is known from the wall clock alone, as after a restart.
    ///   - clock: The clocks, which tests can replace.
    /// - Throws: `refused` or `permissionDenied` if the administrator's configuration cannot be trusted or
    ///   read; `policyInvalid` if the administrator's policy cannot.
    public init(
        _ vault: Vault, transport: any OAuthTransport = CurlTransport(),
        browser: BrowserLauncher = BrowserLauncher(), onRevocation: RevocationPolicy = .wipe(.account),
        onLost: RevocationPolicy = .lock, onExpiry: RevocationPolicy = .keep, clock: VaultClock = .system
    ) async throws(CofferError) {
        let managed = try await BlockingExecutor.run { _ throws(CofferError) in
            try ManagedConfiguration.installed(with: vault.managedPolicy())
        }
        self.init(
            vault, managed: managed, transport: transport, clock: clock,
            actions: SignInFlow.Actions(
                openBrowser: { (url: HTTPSURL) async throws(CofferError) -> Void in
                    try await browser.open(url)
                },
                pause: { (time: Duration) async throws(CofferError) -> Void in try await Self.pause(time) }),
            onRevocation: onRevocation, onLost: onLost, onExpiry: onExpiry)
    }

    init(
        _ vault: Vault, managed: ManagedConfiguration?, transport: any OAuthTransport, clock: VaultClock,
        actions: SignInFlow.Actions, onRevocation: RevocationPolicy = .wipe(.account),
        onLost: RevocationPolicy = .lock, onExpiry: RevocationPolicy = .keep
    ) {
        let profiles = ProfileStore(vault, managed: managed)
        self.profiles = profiles
        context = OAuthContext(
            vault: vault, profiles: profiles, grants: GrantStore(vault), managed: managed,
            transport: transport, clock: clock, actions: actions, onRevocation: onRevocation, onLost: onLost,
            onExpiry: onExpiry)
    }

    private static func pause(_ time: Duration) async throws(CofferError) {
        do {
            try await Task.sleep(for: time, clock: .continuous)
        } catch {
            throw CofferError(.cancelled, "The sign-in was cancelled.")
        }
    }

    /// The changes of the vault's sessions that this value causes, from now on. Each call returns a stream of
    /// its own.
    public nonisolated var events: AsyncStream<OAuthEvent> { context.events.stream() }

    /// Sets the closure that is called when the end of a session has erased the vault of the user with the
    /// account's name.
    package nonisolated func reportErasures(_ report: @escaping @Sendable (_ account: String) -> Void) {
        context.events.setErasureReport { report($0.account) }
    }

    // MARK: Profiles

    /// Adds a profile.
    ///
    /// - Parameter profile: The profile. Its endpoints are asked for at the first sign-in if it has none.
    /// - Throws: The errors of ``ProfileStore/add(_:)``.
    public func add(_ profile: OAuthProfile) async throws(CofferError) { try await profiles.add(profile) }

    /// Asks a profile's server for its endpoints and pins them.
    ///
    /// - Parameters:
    ///   - name: The profile's name.
    ///   - acceptsEndpoints: Whether the endpoints may differ from those that were accepted before. Set it
    ///     only after the user has agreed: whoever controls an endpoint receives the profile's tokens.
    /// - Returns: The profile with its endpoints.
    /// - Throws: `refused` if the endpoints differ and `acceptsEndpoints` is not set; the errors of
    ///   ``Discovery/metadata(of:)`` and ``ProfileStore/profile(_:)``.
    @discardableResult
    public func discover(
        _ name: String, acceptsEndpoints: Bool = false
    ) async throws(CofferError) -> OAuthProfile {
        try await context.discovered(try await context.profile(name), acceptsEndpoints: acceptsEndpoints)
    }

    // MARK: Sessions

    /// Signs a user in.
    ///
    /// The tokens are stored after every check has succeeded. If a check fails, the new tokens are revoked,
    /// nothing is stored, and an earlier session of the account stays as it was.
    ///
    /// - Parameters:
    ///   - name: The profile's name.
    ///   - account: A name of the user on this machine, of the caller's choice.
    ///   - way: The way in which the user signs in.
    ///   - prompt: A closure that shows something to the user.
    /// - Returns: The session.
    /// - Throws: `serverRefused`, with the server's code, if the user or the server refused; `stateMismatch`,
    ///   `issuerMismatch` or `redirectRefused` if the answer is not one to this sign-in; `serverMalformed` if
    ///   a token is not as required; `serverUnreachable` or `timedOut` if no answer came;
    ///   `certificateRefused`; `hostRefused` if the administrator does not allow the server, or the profile
    ///   the host that the server names for requests; `absent` if there is no such profile or a secret of its
    ///   client is missing; `unsupported` if the server or this machine does not have what the way requires;
    ///   `busy` if a sign-in of the account is in progress or another program uses the registered port;
    ///   `cancelled`, `locked`, `wiped`, `noSpace` or `readOnly`.
    public func signIn(
        _ name: String, account: String = "", by way: SignInWay = .browser,
        prompt: @escaping @Sendable (SignInPrompt) async -> Void = { _ in }
    ) async throws(CofferError) -> Grant {
        let id = GrantID(profile: name, account: account)
        // The names are checked before anything is sent.
        _ = try id.grantRow
        guard accountsInProgress.insert(id).inserted else {
            throw CofferError(.busy, "A sign-in of this account is in progress. Finish or cancel it first.")
        }
        defer { accountsInProgress.remove(id) }
        return try await SignInSession(context: context, id: id, prompt: prompt).run(way)
    }

    /// Returns the session of an account. Nothing is sent.
    ///
    /// - Parameters:
    ///   - name: The profile's name.
    ///   - account: The account.
    /// - Returns: The session, which may have ended.
    /// - Throws: `signInNeeded` if there is no session; `invalidInput` if the profile's name is not a name;
    ///   `corrupt`, `unsupportedVersion`, `locked` or `wiped`.
    public func grant(_ name: String, account: String = "") async throws(CofferError) -> Grant {
        let id = GrantID(profile: name, account: account)
        guard try await context.grants.record(id) != nil else { throw GrantStore.signInNeeded }
        return Grant(context: context, id: id)
    }

    /// Returns every session in the vault, also those that have ended. Nothing is sent.
    ///
    /// - Throws: `corrupt`, `locked` or `wiped`.
    public func grants() async throws(CofferError) -> [Grant] {
        try await context.grants.list().map { Grant(context: context, id: $0) }
    }
}
