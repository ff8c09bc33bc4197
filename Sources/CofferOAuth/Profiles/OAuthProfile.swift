public import CofferBase

/// A client of one authorization server: whom it asks, who it is, and where its tokens may go.
///
/// A profile contains no secret. The client's own secrets are stored beside it (``ClientSecret``).
///
/// ```swift
/// let profile = try OAuthProfile(
///     "work", issuer: "https://login.example.org", clientID: "desktop", scopes: ["api"],
///     resourceHosts: ["api.example.org"])
/// ```
public struct OAuthProfile: Sendable, Equatable {
    /// The profile's name: 1 to 64 letters, digits, periods, hyphens and underscores.
    public let name: String
    /// The issuer, to which everything that the server says of itself is compared byte by byte.
    public let issuer: HTTPSURL
    /// The client's ID at the server.
    public var clientID: String
    /// The endpoints that were accepted; `nil` before the first discovery.
    public var endpoints: PinnedEndpoints?
    /// The way in which the client authenticates itself.
    public var authentication: ClientAuthentication
    /// The ID of the client's private key, as it is registered with the server, for the header of assertions;
    /// `nil` for none. Some servers refuse assertions without it.
    public var assertionKeyID: String?
    /// The scopes that a sign-in asks for.
    public var scopes: [String]
    /// The hosts that may receive the profile's access tokens.
    public var resourceHosts: [HostPattern]
    /// The time at which a session ends, whatever the server says.
    public var policy: GrantPolicy
    /// The tokens that are stored.
    public var storage: GrantStorage
    /// The life of an access token whose life the server does not say.
    public var assumedLife: Duration
    /// The address to which the browser returns.
    public var redirect: RedirectRule
    /// Whether requests prove the possession of a key.
    public var keyProof: KeyProofUse
    /// The certificates with which the server is verified.
    public var trust: ServerTrust
    /// The proxy through which the server is reached.
    public var proxy: ProxyRule
    /// The answers of the server that mean more than the standards say.
    public var quirks: ServerQuirks

    /// Creates a profile. All other properties have default values that can be changed afterwards.
    ///
    /// - Parameters:
    ///   - name: The profile's name.
    ///   - issuer: The issuer, an `https` URL without a query, exactly as the server writes it.
    ///   - clientID: The client's ID at the server.
    ///   - scopes: The scopes that a sign-in asks for.
    ///   - authentication: The way in which the client authenticates itself.
    ///   - resourceHosts: The hosts that may receive access tokens.
    /// - Throws: `invalidInput` if a value is invalid.
    public init(
        _ name: String, issuer: String, clientID: String, scopes: [String] = [],
        authentication: ClientAuthentication = .none, resourceHosts: [String] = []
    ) throws(CofferError) {
        self.init(
            name: name, issuer: try HTTPSURL(issuer), clientID: clientID, scopes: scopes,
            authentication: authentication,
            resourceHosts: try resourceHosts.map { (text) throws(CofferError) -> HostPattern in
                try HostPattern(text)
            })
        try check()
    }

    /// Creates a profile that is not yet checked.
    init(
        name: String, issuer: HTTPSURL, clientID: String, scopes: [String],
        authentication: ClientAuthentication, resourceHosts: [HostPattern]
    ) {
        self.name = name
        self.issuer = issuer
        self.clientID = clientID
        self.scopes = scopes
        self.authentication = authentication
        self.resourceHosts = resourceHosts
        endpoints = nil
        policy = .untilRevoked
        storage = .all
        assumedLife = .seconds(7200)
        redirect = RedirectRule(path: "/oauth/" + name)
        keyProof = .whenOffered
        trust = ServerTrust()
        proxy = .none
        quirks = ServerQuirks()
    }
}

extension OAuthProfile {
    /// Throws `invalidInput` unless the text can be a profile's name. A number sign is not allowed, because
    /// it separates the name from the parts of a session in the vault.
    static func check(name: String) throws(CofferError) {
        let first = name.utf8.first.map(isLetterOrDigit) ?? false
        let isName = name.utf8.allSatisfy {
            isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: "_")
        }
        guard first, isName, name.utf8.count <= 64 else {
            throw CofferError(
                .invalidInput,
                "A profile's name must consist of 1 to 64 letters, digits, periods, hyphens and underscores, "
                    + "and must begin with a letter or a digit.")
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Checks every value. A profile is checked when it is created from text, stored and read.
    ///
    /// - Throws: `invalidInput` if a value is invalid.
    public func check() throws(CofferError) {
        try Self.check(name: name)
        guard issuer.query == nil else {
            throw CofferError(.invalidInput, "An issuer must not have a query.")
        }
        guard (1...1024).contains(clientID.utf8.count),
            clientID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw CofferError(
                .invalidInput, "A client ID must have 1 to 1024 printable ASCII characters.")
        }
        if let assertionKeyID {
            guard (1...256).contains(assertionKeyID.utf8.count),
                assertionKeyID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else {
                throw CofferError(
                    .invalidInput, "The ID of a client's key must have 1 to 256 printable ASCII characters.")
            }
        }
        try OAuthScopes.check(scopes)
        guard resourceHosts.count <= 256 else {
            throw CofferError(.invalidInput, "A profile can have at most 256 resource hosts.")
        }
        try checkTimes()
        try redirect.check()
        try trust.check()
        try quirks.check()
        if case .server(let host, let port) = proxy {
            let isHost = HostName.isName(host) || HostName.isIPv4Address(host) || HostName.isIPv6Address(host)
            guard isHost, port != 0 else {
                throw CofferError(
                    .invalidInput, "A proxy must have a host in lower case and a port other than 0.")
            }
        }
    }

    private func checkTimes() throws(CofferError) {
        guard assumedLife.isWholeSeconds,
            (Duration.seconds(60)...Duration.seconds(86400)).contains(assumedLife)
        else {
            throw CofferError(
                .invalidInput, "The assumed life of an access token must be 60 seconds to 24 hours.")
        }
        guard let time = policy.duration else { return }
        guard time.isWholeSeconds, GrantPolicy.times.contains(time) else {
            throw CofferError(
                .invalidInput, "The time after which a session ends must be 60 seconds to 10 years.")
        }
    }

    /// Takes over the endpoints that a server announces. Endpoints that the profile has and the server does
    /// not announce stay.
    ///
    /// ``ProfileStore/update(_:acceptsEndpoints:)`` refuses the profile afterwards if endpoints that were
    /// accepted have changed.
    ///
    /// - Parameter metadata: The server's document.
    /// - Throws: `issuerMismatch` if the document belongs to another issuer.
    public mutating func adopt(_ metadata: ServerMetadata) throws(CofferError) {
        guard metadata.issuer == issuer else {
            throw CofferError(
                .issuerMismatch, "The discovery document belongs to another issuer than the profile.")
        }
        endpoints = metadata.endpoints.completed(from: endpoints ?? PinnedEndpoints())
    }

    /// Returns whether an access token of the profile may be sent to a URL.
    ///
    /// - Parameter url: The URL.
    /// - Returns: Whether a resource host of the profile matches.
    public func allows(_ url: HTTPSURL) -> Bool { resourceHosts.contains { $0.matches(url) } }
}

extension OAuthProfile {
    /// Checks the host that an access token is for, if the server named one.
    ///
    /// - Throws: `hostRefused` if the profile does not allow the host.
    func check(instance text: String?) throws(CofferError) {
        guard let text else { return }
        guard let url = try? HTTPSURL(text), allows(url) else {
            throw CofferError(
                .hostRefused, "The server named a host for requests that the profile does not allow.",
                remedy: .allowHost)
        }
    }
}

extension Duration {
    /// Whether the time is a whole number of seconds, as a profile stores it.
    var isWholeSeconds: Bool { components.attoseconds == 0 }
}
