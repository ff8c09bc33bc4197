public import CofferBase
package import CofferEngine
package import SystemPackage

/// The servers and sessions that an administrator allows on this machine, from the file
/// `/etc/coffer/oauth.json`.
///
/// The file is used only if it and every directory on its path belong to root and nobody else can write to
/// them. A file that cannot be trusted or read is an error, not an empty configuration.
public struct ManagedConfiguration: Sendable, Equatable {
    /// The servers in the administrator's order.
    public let servers: [LoginServer]
    /// Whether all other servers are refused. If there are no servers, every server is refused.
    public let allowsOnlyServers: Bool
    /// Whether a client must authenticate itself with a certificate.
    public let requiresCertificate: Bool
    /// The name of the certificate that clients use; `nil` if the administrator names none.
    public let certificateAlias: String?
    /// The time at which every session ends, beside the profile's policy: the stricter of the two applies.
    public let policy: GrantPolicy
    /// The times at which every session ends: that of ``policy``, and that of the machine's policy.
    let policies: [GrantPolicy]
    /// The server that is offered first; `nil` if there is none.
    public var defaultServer: LoginServer? { servers.first }

    private static let maxByteCount = 1 << 18

    /// Creates a configuration by parsing a document.
    ///
    /// The members `AppServiceHosts` and `AppServiceHostLabels` are strings, in which commas separate the
    /// values, or arrays of strings, of the same length. A host may begin with `https://`. The member
    /// `RefreshTokenPolicy` is `untilRevoked`, `onceOnly`, `eachStart`, `hourly`, `daily`, `monthly`,
    /// `idle:SECONDS` or `absolute:SECONDS`.
    ///
    /// - Parameter bytes: The document, JSON of at most 256 KiB.
    /// - Throws: `refused` if the document is not strict JSON, or if a member is unknown or has another type
    ///   or an invalid value. A misspelt name must not lift a restriction.
    public init(parsing bytes: [UInt8]) throws(CofferError) {
        var members = try JSONMembers(
            parsing: bytes, atMost: Self.maxByteCount, of: "The administrator's OAuth configuration",
            code: .refused)
        let hosts = try members.listOrText("AppServiceHosts") ?? []
        let labels = try members.listOrText("AppServiceHostLabels")
        guard labels == nil || labels?.count == hosts.count else {
            throw members.invalid("AppServiceHosts and AppServiceHostLabels have different lengths")
        }
        guard hosts.count <= 256 else { throw members.invalid("there are more than 256 hosts") }
        var servers: [LoginServer] = []
        for (index, host) in hosts.enumerated() {
            guard let url = Self.url(of: host) else {
                throw members.invalid(
                    "host \(index + 1) must be a host in lower case, optionally with https:// and a port")
            }
            guard !servers.contains(where: { $0.url.origin.hasSameBytes(as: url.origin) }) else {
                throw members.invalid("host \(index + 1) is there twice")
            }
            let label = labels?[index] ?? url.host
            guard LoginServer.isLabel(label) else {
                throw members.invalid("label \(index + 1) is empty or too long, or has control characters")
            }
            servers.append(LoginServer(label: label, url: url))
        }
        self.servers = servers
        allowsOnlyServers = try members.flag("OnlyShowAuthorizedHosts") ?? false
        requiresCertificate = try members.flag("RequireCertAuth") ?? false
        certificateAlias = try members.text("ManagedAppCertAlias")
        guard certificateAlias.map(LoginServer.isLabel) ?? true else {
            throw members.invalid("ManagedAppCertAlias is empty or too long, or has control characters")
        }
        policy = try members.policy("RefreshTokenPolicy") ?? .untilRevoked
        policies = [policy]
        try members.finish()
    }

    init(
        servers: [LoginServer], allowsOnlyServers: Bool, requiresCertificate: Bool,
        certificateAlias: String?, policy: GrantPolicy, policies: [GrantPolicy]
    ) {
        self.servers = servers
        self.allowsOnlyServers = allowsOnlyServers
        self.requiresCertificate = requiresCertificate
        self.certificateAlias = certificateAlias
        self.policy = policy
        self.policies = policies
    }

    /// Returns the URL of a host, without a path; `nil` if the host is invalid.
    private static func url(of host: String) -> HTTPSURL? {
        let isWhole = host.utf8.starts(with: "https://".utf8)
        guard let url = try? HTTPSURL(isWhole ? host : "https://" + host), url.path.isEmpty, url.query == nil
        else { return nil }
        return try? HTTPSURL(url.origin)
    }

    /// Returns the configuration of this machine.
    ///
    /// - Returns: The configuration; `nil` if there is none.
    /// - Throws: `refused` if the file, or a directory on its path, does not belong to root, can be written
    ///   by others, or is not of the expected kind, or if the file is invalid; the error that prevents
    ///   reading it.
    public static func installed() throws(CofferError) -> ManagedConfiguration? {
        let root = try Descriptor.open("/", [.read, .directory])
        return try read(below: root, directories: ["etc", "coffer"], file: "oauth.json", owner: 0)
    }

    /// Returns the configuration in a file below a directory, all of which must belong to `owner`.
    package static func read(
        below root: borrowing Descriptor, directories: [FilePath], file name: FilePath, owner: UInt32
    ) throws(CofferError) -> ManagedConfiguration? {
        try check(root.status(), .directory, owner)
        guard let next = directories.first else {
            guard try root.status(of: name) != nil else { return nil }
            // A link is not followed, and a pipe does not block; the status is that of the open file.
            let file = try root.open(name, .read)
            try check(file.status(), .regular, owner)
            return try ManagedConfiguration(parsing: file.readAll(limit: maxByteCount))
        }
        guard let status = try root.status(of: next) else { return nil }
        try check(status, .directory, owner)
        let directory = try root.open(next, [.read, .directory])
        return try read(
            below: directory, directories: Array(directories.dropFirst()), file: name, owner: owner)
    }

    private static func check(
        _ status: FileStatus, _ kind: FileStatus.Kind, _ owner: UInt32
    ) throws(CofferError) {
        guard status.kind == kind, status.owner == owner, status.permissions & 0o022 == 0 else {
            throw CofferError(
                .refused,
                "The administrator's OAuth configuration cannot be trusted: the file and every directory on "
                    + "its path must belong to root, must not be links, and must not be writable by others.")
        }
    }

    /// Throws an error unless the configuration allows a profile.
    ///
    /// - Parameter profile: The profile.
    /// - Throws: `hostRefused` if the profile's issuer or one of its endpoints is not on an allowed server;
    ///   `refused` if the profile must use a client certificate and does not.
    public func check(_ profile: OAuthProfile) throws(CofferError) {
        for origin in Self.origins(of: profile) where !allows(origin) {
            throw CofferError(
                .hostRefused, "The administrator of this machine does not allow the server \(origin).")
        }
        guard !requiresCertificate || profile.authentication == .mutualTLS else {
            throw CofferError(
                .refused, "The administrator of this machine requires a client certificate (mutual TLS).")
        }
    }

    private func allows(_ origin: String) -> Bool {
        !allowsOnlyServers || servers.contains { $0.url.origin.hasSameBytes(as: origin) }
    }

    /// Returns the origins of the issuer and of every endpoint: each endpoint receives codes, tokens or the
    /// user's password, wherever the issuer is.
    private static func origins(of profile: OAuthProfile) -> [String] {
        let pinned = profile.endpoints ?? PinnedEndpoints()
        let endpoints = ServerEndpoint.allCases.flatMap { endpoint in
            [pinned.urls[endpoint], pinned.mutualTLSAliases[endpoint]].compactMap { $0?.origin }
        }
        return [profile.issuer.origin] + endpoints
    }
}

extension JSONMembers {
    /// Takes out an array of texts, or one text in which commas separate the values; `nil` if there is none.
    fileprivate mutating func listOrText(_ name: String) throws(CofferError) -> [String]? {
        guard let value = take(name) else { return nil }
        if let text = value.string {
            return text.parts(between: ",", keepsEmpty: true).map(Self.withoutSpaces)
        }
        let texts = value.array?.compactMap(\.string)
        guard let texts, texts.count == value.array?.count else {
            throw invalid("the member \(name) must be a string or an array of strings")
        }
        return texts
    }

    /// Takes out a policy; `nil` if there is none.
    fileprivate mutating func policy(_ name: String) throws(CofferError) -> GrantPolicy? {
        guard let text = try text(name) else { return nil }
        guard let policy = try? GrantPolicy(parsing: text) else {
            throw invalid("the member \(name) must be \(GrantPolicy.forms)")
        }
        return policy
    }

    /// Returns the text without the spaces around it.
    private static func withoutSpaces(_ text: String) -> String {
        var bytes = Array(text.utf8.drop { $0 == 0x20 })
        while bytes.last == 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
