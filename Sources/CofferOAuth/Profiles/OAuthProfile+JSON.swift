import CofferBase

/// The names of the members of a stored profile.
private enum Member {
    static let version = "version", name = "name", issuer = "issuer", clientID = "clientID"
    static let endpoints = "endpoints", urls = "urls", aliases = "mutualTLSAliases"
    static let issuerInRedirect = "issuerInRedirect", pushed = "pushedAuthorization"
    static let keyProofOffered = "keyProofOffered"
    static let authentication = "authentication", audience = "assertionAudience"
    static let assertionKey = "assertionKeyID"
    static let scopes = "scopes", hosts = "resourceHosts", storage = "storage", life = "assumedLife"
    static let policy = "policy", policyTime = "policySeconds"
    static let redirect = "redirect", address = "address", port = "port", path = "path"
    static let keyProof = "keyProof", trust = "trust", authorities = "authorities"
    static let keyDigests = "publicKeyDigests", proxy = "proxy", kind = "kind", host = "host"
    static let quirks = "quirks", revoked = "revokedCodes", renewal = "renewalCodes"
    static let bareForbidden = "renewsOnBareForbidden", signInPage = "signInPage"
}

extension OAuthProfile {
    /// The version of the stored form.
    static let version: Int64 = 1
    /// The greatest size of the stored form in bytes.
    static let maxByteCount = 1 << 18

    /// Returns the stored form: JSON with sorted keys.
    ///
    /// - Throws: `invalidInput` if a value is invalid.
    func encoded() throws(CofferError) -> [UInt8] {
        try check()
        var members: [String: JSONValue] = [
            Member.version: .integer(Self.version), Member.name: .string(name),
            Member.issuer: .string(issuer.text), Member.clientID: .string(clientID),
            Member.scopes: .list(scopes), Member.hosts: .list(resourceHosts.map(\.text)),
            Member.storage: .string(storage.rawValue),
            Member.life: .integer(assumedLife.components.seconds),
            Member.keyProof: .string(keyProof.rawValue), Member.redirect: redirect.value,
            Member.trust: trust.value, Member.proxy: proxy.value, Member.quirks: quirks.value,
        ]
        members[Member.endpoints] = endpoints?.value
        members[Member.assertionKey] = assertionKeyID.map { .string($0) }
        members.merge(authentication.members) { $1 }
        members.merge(policy.members) { $1 }
        let bytes = Array(try JSONValue.object(members).jsonText().utf8)
        guard bytes.count <= Self.maxByteCount else {
            throw CofferError(.invalidInput, "A profile must be at most 256 KiB long.")
        }
        return bytes
    }

    /// Creates a profile from its stored form.
    ///
    /// - Throws: `corrupt` if a member is missing, unknown, of the wrong type or invalid;
    ///   `unsupportedVersion` if a newer release stored the profile.
    init(decoding bytes: [UInt8]) throws(CofferError) {
        var members = try JSONMembers(
            parsing: bytes, atMost: Self.maxByteCount, of: "A stored profile", code: .corrupt,
            remedy: .removeProfile)
        guard let version = try members.number(Member.version) else {
            throw members.invalid("the member \(Member.version) is missing")
        }
        guard version <= Self.version else {
            throw CofferError(
                .unsupportedVersion, "A newer release stored this profile.", remedy: .useNewerRelease)
        }
        guard version == Self.version else { throw members.invalid("its version is not a version") }
        guard let issuer = try members.url(Member.issuer) else {
            throw members.invalid("the member \(Member.issuer) is missing")
        }
        var hosts: [HostPattern] = []
        for text in try members.texts(Member.hosts) ?? [] {
            guard let host = try? HostPattern(text) else { throw members.invalid("a resource host is wrong") }
            hosts.append(host)
        }
        self.init(
            name: try members.requiredText(Member.name), issuer: issuer,
            clientID: try members.requiredText(Member.clientID),
            scopes: try members.texts(Member.scopes) ?? [],
            authentication: try ClientAuthentication(from: &members), resourceHosts: hosts)
        try readSettings(from: &members)
        try members.finish()
        do throws(CofferError) {
            try check()
        } catch {
            throw members.invalid("a value is outside its limits")
        }
    }

    private mutating func readSettings(from members: inout JSONMembers) throws(CofferError) {
        policy = try GrantPolicy(from: &members)
        assertionKeyID = try members.text(Member.assertionKey)
        endpoints = try members.object(Member.endpoints).map {
            (object) throws(CofferError) -> PinnedEndpoints in
            try PinnedEndpoints(from: object)
        }
        guard let storage = try members.word(Member.storage, as: GrantStorage.self),
            let keyProof = try members.word(Member.keyProof, as: KeyProofUse.self),
            let life = try members.number(Member.life), let redirect = try members.object(Member.redirect),
            let trust = try members.object(Member.trust), let proxy = try members.object(Member.proxy),
            let quirks = try members.object(Member.quirks)
        else { throw members.invalid("a member is missing") }
        self.storage = storage
        self.keyProof = keyProof
        assumedLife = .seconds(life)
        self.redirect = try RedirectRule(from: redirect)
        self.trust = try ServerTrust(from: trust)
        self.proxy = try ProxyRule(from: proxy)
        self.quirks = try ServerQuirks(from: quirks)
    }
}

extension JSONValue {
    fileprivate static func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}

extension PinnedEndpoints {
    fileprivate var value: JSONValue {
        .object([
            Member.urls: Self.value(of: urls), Member.aliases: Self.value(of: mutualTLSAliases),
            Member.issuerInRedirect: .bool(requiresIssuerInRedirect),
            Member.pushed: .bool(requiresPushedAuthorization), Member.keyProofOffered: .bool(offersKeyProof),
        ])
    }

    private static func value(of urls: [ServerEndpoint: HTTPSURL]) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for (endpoint, url) in urls { members[endpoint.rawValue] = .string(url.text) }
        return .object(members)
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        guard var urls = try members.object(Member.urls), var aliases = try members.object(Member.aliases),
            let issuer = try members.flag(Member.issuerInRedirect),
            let pushed = try members.flag(Member.pushed),
            let offersProof = try members.flag(Member.keyProofOffered)
        else { throw members.invalid("a member of its endpoints is missing") }
        try members.finish()
        self.init(
            try Self.urls(in: &urls), mutualTLSAliases: try Self.urls(in: &aliases),
            requiresIssuerInRedirect: issuer, requiresPushedAuthorization: pushed,
            offersKeyProof: offersProof)
        try urls.finish()
        try aliases.finish()
    }

    /// Takes the endpoints out of an object.
    static func urls(in members: inout JSONMembers) throws(CofferError) -> [ServerEndpoint: HTTPSURL] {
        var urls: [ServerEndpoint: HTTPSURL] = [:]
        for endpoint in ServerEndpoint.allCases { urls[endpoint] = try members.url(endpoint.rawValue) }
        return urls
    }
}

extension ClientAuthentication {
    fileprivate var members: [String: JSONValue] {
        switch self {
        case .none: [Member.authentication: "none"]
        case .basic: [Member.authentication: "basic"]
        case .post: [Member.authentication: "post"]
        case .mutualTLS: [Member.authentication: "mutualTLS"]
        case .privateKeyJWT(let audience):
            [Member.authentication: "assertion", Member.audience: .string(audience.rawValue)]
        }
    }

    fileprivate init(from members: inout JSONMembers) throws(CofferError) {
        switch try members.requiredText(Member.authentication) {
        case "none": self = .none
        case "basic": self = .basic
        case "post": self = .post
        case "mutualTLS": self = .mutualTLS
        case "assertion":
            guard let audience = try members.word(Member.audience, as: AssertionAudience.self) else {
                throw members.invalid("the member \(Member.audience) is missing")
            }
            self = .privateKeyJWT(audience: audience)
        default: throw members.invalid("its authentication is unknown")
        }
    }
}

extension GrantPolicy {
    fileprivate var members: [String: JSONValue] {
        let name: JSONValue =
            switch self {
            case .untilRevoked: "untilRevoked"
            case .onceOnly: "onceOnly"
            case .eachStart: "eachStart"
            case .idle: "idle"
            case .absolute: "absolute"
            }
        guard let duration else { return [Member.policy: name] }
        return [Member.policy: name, Member.policyTime: .integer(duration.components.seconds)]
    }

    fileprivate init(from members: inout JSONMembers) throws(CofferError) {
        let name = try members.requiredText(Member.policy)
        switch name {
        case "untilRevoked": self = .untilRevoked
        case "onceOnly": self = .onceOnly
        case "eachStart": self = .eachStart
        case "idle", "absolute":
            guard let seconds = try members.number(Member.policyTime) else {
                throw members.invalid("the member \(Member.policyTime) is missing")
            }
            self = name == "idle" ? .idle(.seconds(seconds)) : .absolute(.seconds(seconds))
        default: throw members.invalid("its policy is unknown")
        }
    }
}

extension RedirectRule {
    fileprivate var value: JSONValue {
        var members: [String: JSONValue] = [
            Member.address: .string(address.rawValue), Member.path: .string(path),
        ]
        members[Member.port] = port.map { .integer(Int64($0)) }
        return .object(members)
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        guard let address = try members.word(Member.address, as: Loopback.self) else {
            throw members.invalid("the redirect's address is missing")
        }
        let port = try members.port()
        self.init(address: address, port: port, path: try members.requiredText(Member.path))
        try members.finish()
    }
}

extension JSONMembers {
    /// Takes out a port; `nil` if there is none.
    fileprivate mutating func port() throws(CofferError) -> UInt16? {
        guard let number = try number(Member.port) else { return nil }
        guard let port = UInt16(exactly: number), port != 0 else { throw invalid("a port is out of range") }
        return port
    }
}

extension ServerTrust {
    fileprivate var value: JSONValue {
        var members: [String: JSONValue] = [Member.keyDigests: .list(publicKeyDigests.map(HexText.encode))]
        members[Member.authorities] = authorities.map { .string($0) }
        return .object(members)
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        var digests: [[UInt8]] = []
        for text in try members.texts(Member.keyDigests) ?? [] {
            guard let digest = HexText.decode(text, lowerCaseOnly: true) else {
                throw members.invalid("a public key digest is not hexadecimal")
            }
            digests.append(digest)
        }
        self.init(authorities: try members.text(Member.authorities), publicKeyDigests: digests)
        try members.finish()
    }
}

extension ProxyRule {
    fileprivate var value: JSONValue {
        switch self {
        case .none: [Member.kind: "none"]
        case .environment: [Member.kind: "environment"]
        case .server(let host, let port):
            [Member.kind: "server", Member.host: .string(host), Member.port: .integer(Int64(port))]
        }
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        switch try members.requiredText(Member.kind) {
        case "none": self = .none
        case "environment": self = .environment
        case "server":
            guard let port = try members.port() else { throw members.invalid("the proxy's port is missing") }
            self = .server(host: try members.requiredText(Member.host), port: port)
        default: throw members.invalid("its proxy is unknown")
        }
        try members.finish()
    }
}

extension ServerQuirks {
    fileprivate var value: JSONValue {
        var members: [String: JSONValue] = [
            Member.revoked: .list(revokedCodes), Member.renewal: .list(renewalCodes),
            Member.bareForbidden: .bool(renewsOnBareForbidden),
        ]
        members[Member.signInPage] = signInPage.map { .string($0.text) }
        return .object(members)
    }

    fileprivate init(from members: JSONMembers) throws(CofferError) {
        var members = members
        self.init(
            revokedCodes: try members.texts(Member.revoked) ?? [],
            renewalCodes: try members.texts(Member.renewal) ?? [],
            renewsOnBareForbidden: try members.flag(Member.bareForbidden) ?? false,
            signInPage: try members.url(Member.signInPage))
        try members.finish()
    }
}
