import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferOAuth

/// What the commands print about a profile. It contains no secret.
enum ProfileText {
    /// Warns of scopes that probably do not do what was meant.
    static func warn(about profile: OAuthProfile) {
        guard OAuthScopes.warnings(about: profile.scopes).contains(.fullWithoutRefreshToken) else { return }
        Output.message(
            "coffer: The scope full includes no refresh token, so a session ends with its access token. "
                + "Add the scope refresh_token.")
    }

    /// Returns the profile's properties on lines of their own.
    static func lines(_ profile: OAuthProfile, _ secrets: [String]) -> [String] {
        var lines = texts(profile).map { name, value in "\(name): \(value.printable)" }
        lines.append("assumedLife: \(profile.assumedLife.components.seconds)")
        for host in profile.resourceHosts { lines.append("host: \(host.text)") }
        lines.append("authorities: \(authorities(profile.trust))")
        for digest in profile.trust.publicKeyDigests { lines.append("pin: \(HexText.encode(digest))") }
        for (name, url) in endpoints(profile) { lines.append("\(name): \(url)") }
        if !secrets.isEmpty { lines.append("secrets: \(secrets.joined(separator: " "))") }
        return lines
    }

    /// Returns the profile's properties as JSON.
    static func document(_ profile: OAuthProfile, _ secrets: [String]) -> JSONDocument {
        var members: [(String, JSONDocument)] = []
        for (name, value) in texts(profile) { members.append((name, .text(value))) }
        members.append(("assumedLife", .number(Int(profile.assumedLife.components.seconds))))
        var urls: [(String, JSONDocument)] = []
        for (name, url) in endpoints(profile) { urls.append((name, .text(url))) }
        members.append(("scopeList", .list(profile.scopes.map { .text($0) })))
        members.append(("hosts", .list(profile.resourceHosts.map { .text($0.text) })))
        members.append(("authorities", .list(digests(profile.trust).map { .text($0) })))
        members.append(("trustsSystem", .flag(profile.trust.authorities == nil)))
        members.append(("pins", .list(profile.trust.publicKeyDigests.map { .text(HexText.encode($0)) })))
        members.append(("endpoints", .object(urls)))
        members.append(("secrets", .list(secrets.map { .text($0) })))
        return .object(members)
    }

    /// The SHA-256 digests of the profile's own authorities; empty if they are not certificates.
    private static func digests(_ trust: ServerTrust) -> [String] {
        guard let text = trust.authorities else { return [] }
        return ((try? Certificates.digests(of: Array(text.utf8))) ?? []).map { HexText.encode($0) }
    }

    private static func authorities(_ trust: ServerTrust) -> String {
        guard trust.authorities != nil else { return "the system's" }
        let digests = digests(trust)
        guard !digests.isEmpty else { return "invalid, so that no server is trusted" }
        return "\(Plural.of(digests.count, "certificate")), SHA-256 " + digests.joined(separator: " ")
    }

    private static func name(of proxy: ProxyRule) -> String {
        switch proxy {
        case .none: "none"
        case .environment: "environment"
        case .server(let host, let port): "\(host):\(port)"
        }
    }

    private static func endpoints(_ profile: OAuthProfile) -> [(String, String)] {
        ServerEndpoint.allCases.compactMap { endpoint in
            profile.endpoints?.urls[endpoint].map { (endpoint.rawValue, $0.text) }
        }
    }

    private static func texts(_ profile: OAuthProfile) -> [(String, String)] {
        let all: [(String, String?)] = [
            ("name", profile.name), ("issuer", profile.issuer.text), ("clientID", profile.clientID),
            ("authentication", name(of: profile.authentication)), ("keyID", profile.assertionKeyID),
            ("scopes", profile.scopes.joined(separator: " ")), ("policy", name(of: profile.policy)),
            ("storage", StorageArgument(profile.storage).rawValue),
            ("keyProof", KeyProofArgument(profile.keyProof).rawValue),
            ("redirect", redirect(profile.redirect)), ("proxy", name(of: profile.proxy)),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    private static func redirect(_ rule: RedirectRule) -> String {
        // A URI without a port has the default one.
        guard let port = rule.port else { return rule.uri(port: 80) + " (any port)" }
        return rule.uri(port: port)
    }

    private static func name(of authentication: ClientAuthentication) -> String {
        switch authentication {
        case .none: "none"
        case .basic: "basic"
        case .post: "post"
        case .privateKeyJWT(audience: .issuer): "private-key-jwt"
        case .privateKeyJWT(audience: .tokenEndpoint): "private-key-jwt-endpoint"
        case .privateKeyJWT(audience: .receivingEndpoint): "private-key-jwt-receiver"
        case .mutualTLS: "mutual-tls"
        }
    }

    private static func name(of policy: GrantPolicy) -> String {
        switch policy {
        case .untilRevoked: "untilRevoked"
        case .onceOnly: "onceOnly"
        case .eachStart: "eachStart"
        case .idle(let time): "idle:\(time.components.seconds)"
        case .absolute(let time): "absolute:\(time.components.seconds)"
        }
    }
}
