import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferEngine
import CofferOAuth

/// The ways of client authentication, as the words that specify them on the command line.
enum AuthenticationArgument: String, CaseIterable, ExpressibleByArgument {
    case none, basic, post
    case privateKeyJWT = "private-key-jwt"
    case privateKeyJWTForEndpoint = "private-key-jwt-endpoint"
    case privateKeyJWTForReceiver = "private-key-jwt-receiver"
    case mutualTLS = "mutual-tls"

    var authentication: ClientAuthentication {
        switch self {
        case .none: .none
        case .basic: .basic
        case .post: .post
        case .privateKeyJWT: .privateKeyJWT(audience: .issuer)
        case .privateKeyJWTForEndpoint: .privateKeyJWT(audience: .tokenEndpoint)
        case .privateKeyJWTForReceiver: .privateKeyJWT(audience: .receivingEndpoint)
        case .mutualTLS: .mutualTLS
        }
    }
}

/// The tokens to store, as the words that specify them on the command line.
enum StorageArgument: String, CaseIterable, ExpressibleByArgument {
    case all
    case refreshOnly = "refresh-only"
    case memory

    var storage: GrantStorage {
        switch self {
        case .all: .all
        case .refreshOnly: .refreshOnly
        case .memory: .memory
        }
    }

    /// Creates the word for a profile's storage.
    init(_ storage: GrantStorage) {
        switch storage {
        case .all: self = .all
        case .refreshOnly: self = .refreshOnly
        case .memory: self = .memory
        }
    }
}

/// The uses of key proofs, as the words that specify them on the command line.
enum KeyProofArgument: String, CaseIterable, ExpressibleByArgument {
    case whenOffered = "when-offered"
    case always, never

    var use: KeyProofUse {
        switch self {
        case .whenOffered: .whenOffered
        case .always: .always
        case .never: .never
        }
    }

    /// Creates the word for a profile's use of key proofs.
    init(_ use: KeyProofUse) {
        switch use {
        case .whenOffered: self = .whenOffered
        case .always: self = .always
        case .never: self = .never
        }
    }
}

/// The options that set a profile's properties. An option that is not specified changes nothing.
struct ProfileSettings: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope to ask for; may be repeated; empty for none.", valueName: "scope"))
    var scopes: [String] = []

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "A host that may receive access tokens, such as api.example.org or *.example.org:8443; may be "
                + "repeated; empty for none.", valueName: "host"))
    var hosts: [String] = []

    @Option(
        name: .customLong("auth"),
        help: """
            How the client authenticates itself; in a new profile none, or basic with --client-secret-fd. \
            The audience of private-key-jwt is the issuer, with -endpoint the token endpoint, with \
            -receiver the endpoint that is asked.
            """)
    var authentication: AuthenticationArgument?

    @Option(
        name: .customLong("key-id"),
        help: ArgumentHelp(
            "The ID with which the client's private key is registered; empty for none.", valueName: "id"))
    var keyID: String?

    @Option(
        help: """
            The tokens to store; all in a new profile. With refresh-only, the access token is only in \
            memory, until the vault is locked. With memory, so is the session: no refresh token is asked \
            for, it is not renewed, and later commands use it until its token expires or the vault is locked.
            """)
    var storage: StorageArgument?

    @Option(
        help: """
            The end of a session: untilRevoked, as in a new profile, onceOnly, eachStart, hourly, daily, \
            monthly, idle:SECONDS or absolute:SECONDS. onceOnly ends it after the first access token. Each \
            command is a start of the program, so with eachStart the command after the login finds the \
            session ended: these two are for programs that keep running.
            """,
        completion: .list(["untilRevoked", "onceOnly", "eachStart", "hourly", "daily", "monthly"]))
    var policy: String?

    @Option(
        name: .customLong("key-proof"),
        help: "Whether requests prove the possession of a key (DPoP); when-offered in a new profile.")
    var keyProof: KeyProofArgument?

    @Option(
        help: ArgumentHelp(
            "The port of the redirect that is registered; empty for any port.", valueName: "port"))
    var redirectPort: String?

    @Option(
        help: ArgumentHelp(
            "The path of the redirect URI that is registered; /oauth/NAME in a new profile.",
            valueName: "path"))
    var redirectPath: String?

    @Flag(inversion: .prefixedNo, help: "Redirect to ::1 instead of 127.0.0.1.")
    var ipv6: Bool?

    @Option(
        help: ArgumentHelp(
            "The life of a token whose life the server omits; 7200 in a new profile.", valueName: "seconds"))
    var assumedLife: Int64?

    @Option(
        help: ArgumentHelp(
            "Certificate authorities in PEM, in place of the system's; empty for the system's.",
            valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        name: .customLong("pin"),
        help: ArgumentHelp(
            "The SHA-256 digest in hexadecimal of a permitted public key; may be repeated; empty "
                + "for any key.", valueName: "digest"))
    var pins: [String] = []

    @Option(
        help: """
            The proxy: none, as in a new profile, whatever the environment names; environment, for \
            $https_proxy or $all_proxy, unless $no_proxy lists the host; or HOST:PORT.
            """, completion: .list(["none", "environment"]))
    var proxy: String?

    @Option(
        name: .customLong("endpoint"),
        help: ArgumentHelp(
            "An endpoint that the server does not announce, such as revocation_endpoint=URL; may be "
                + "repeated.", valueName: "name=url"))
    var endpoints: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read the client secret from the first line of this descriptor. Without --auth, a profile "
                + "without client authentication changes to basic.", valueName: "n"))
    var clientSecretFd: Int32?
}

extension ProfileSettings {
    /// Changes the properties of a profile.
    ///
    /// - Parameter profile: The profile.
    /// - Throws: `invalidInput` if a value is invalid; the error that prevents reading a file.
    func apply(to profile: inout OAuthProfile) throws(CofferError) {
        if !scopes.isEmpty { profile.scopes = Self.values(scopes) }
        if !hosts.isEmpty {
            var patterns: [HostPattern] = []
            for host in Self.values(hosts) { patterns.append(try HostPattern(host)) }
            profile.resourceHosts = patterns
        }
        if let authentication {
            profile.authentication = authentication.authentication
        } else if clientSecretFd != nil, profile.authentication == .none {
            // A secret that is never sent is not meant.
            profile.authentication = .basic
        }
        if let keyID { profile.assertionKeyID = keyID.isEmpty ? nil : keyID }
        if let storage { profile.storage = storage.storage }
        if let keyProof { profile.keyProof = keyProof.use }
        if let policy { profile.policy = try GrantPolicy(parsing: policy) }
        if let assumedLife { profile.assumedLife = .seconds(assumedLife) }
        if let redirectPort { profile.redirect.port = try Self.port(redirectPort) }
        if let redirectPath { profile.redirect.path = redirectPath }
        if let ipv6 { profile.redirect.address = ipv6 ? .ipv6 : .ipv4 }
        if let proxy { profile.proxy = try Self.proxy(proxy) }
        try applyTrust(to: &profile)
        try applyEndpoints(to: &profile)
        try profile.check()
    }

    private func applyTrust(to profile: inout OAuthProfile) throws(CofferError) {
        if let caFile {
            profile.trust.authorities = try caFile.isEmpty ? nil : Self.authorities(caFile)
        }
        guard !pins.isEmpty else { return }
        var digests: [[UInt8]] = []
        for pin in Self.values(pins) {
            guard let digest = HexText.decode(pin), digest.count == 32 else {
                throw CofferError(
                    .invalidInput, "--pin takes the 64 hexadecimal digits of a SHA-256 digest.")
            }
            digests.append(digest)
        }
        profile.trust.publicKeyDigests = digests
    }

    /// Returns the certificates in a file. They are checked here: at a sign-in it is too late to say which
    /// file is wrong.
    private static func authorities(_ path: String) throws(CofferError) -> String {
        let file = try Descriptor.open(ProgramArguments.path(path), .read)
        let bytes = try file.readAll(limit: 1 << 17)
        _ = try CertificateFile.digests(of: bytes, option: "--ca-file")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CofferError(.invalidInput, "The file of --ca-file must be PEM text.")
        }
        return text
    }

    /// Returns the values of an option that can be repeated, without the empty one that removes all others.
    private static func values(_ texts: [String]) -> [String] { texts.filter { !$0.isEmpty } }

    private static func port(_ text: String) throws(CofferError) -> UInt16? {
        guard !text.isEmpty else { return nil }
        guard let port = UInt16(text) else {
            throw CofferError(.invalidInput, "--redirect-port takes a number from 1 to 65535, or nothing.")
        }
        return port
    }

    private func applyEndpoints(to profile: inout OAuthProfile) throws(CofferError) {
        guard !endpoints.isEmpty else { return }
        var pinned = profile.endpoints ?? PinnedEndpoints()
        for text in endpoints {
            let name = String(decoding: text.utf8.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            let url = String(decoding: text.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self)
            let found = ServerEndpoint.allCases.first { $0.rawValue.hasSameBytes(as: name) }
            guard let endpoint = found, !url.isEmpty else {
                let names = ServerEndpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw CofferError(.invalidInput, "--endpoint takes NAME=URL. The names are \(names).")
            }
            pinned.urls[endpoint] = try HTTPSURL(url)
        }
        profile.endpoints = pinned
    }

    private static func proxy(_ text: String) throws(CofferError) -> ProxyRule {
        if text.hasSameBytes(as: "none") { return .none }
        if text.hasSameBytes(as: "environment") { return .environment }
        let last = text.parts(between: ":").last ?? ""
        let host = String(decoding: text.utf8.dropLast(last.utf8.count + 1), as: UTF8.self)
        guard let port = UInt16(last), !host.isEmpty else {
            throw CofferError(.invalidInput, "--proxy takes none, environment or HOST:PORT.")
        }
        return .server(host: host, port: port)
    }
}
