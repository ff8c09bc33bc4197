import CofferBase

/// The way in which a client authenticates itself to the authorization server.
public enum ClientAuthentication: Sendable, Hashable {
    /// The audience of a client's signed assertion.
    public enum AssertionAudience: String, Sendable, Hashable, CaseIterable {
        /// The issuer, as the current standard demands.
        case issuer
        /// The token endpoint, which is all that some servers accept.
        case tokenEndpoint
    }

    /// A public client: only its ID is sent.
    case none
    /// The client secret in the `Authorization` header.
    case basic
    /// The client secret in the body of the request.
    case post
    /// An assertion that the client's private key signs (RFC 7523).
    case privateKeyJWT(audience: AssertionAudience)
    /// A client certificate (RFC 8705).
    case mutualTLS
}

/// The time at which a session at the server ends, whatever the server says.
public enum GrantPolicy: Sendable, Hashable {
    /// When the server ends it.
    case untilRevoked
    /// After the first access token.
    case onceOnly
    /// At each start of the program.
    case eachStart
    /// When it was not used for this time.
    case idle(Duration)
    /// This time after the sign-in.
    case absolute(Duration)

    /// An hour after the sign-in.
    public static let hourly = GrantPolicy.absolute(.seconds(3600))
    /// A day after the sign-in.
    public static let daily = GrantPolicy.absolute(.seconds(86400))
    /// 30 days after the sign-in.
    public static let monthly = GrantPolicy.absolute(.seconds(30 * 86400))

    var duration: Duration? {
        switch self {
        case .idle(let time), .absolute(let time): time
        default: nil
        }
    }
}

/// The tokens that are stored in the vault; the others are only in memory.
public enum GrantStorage: String, Sendable, Hashable, CaseIterable {
    /// All tokens.
    case all
    /// Only the refresh token.
    case refreshOnly
    /// None: no refresh token is asked for, and the session ends with the program.
    case memory
}

/// Whether requests prove the possession of a key (DPoP, RFC 9449).
public enum KeyProofUse: String, Sendable, Hashable, CaseIterable {
    /// Where the server offers it.
    case whenOffered
    /// Always; a server without it is refused.
    case always
    /// Never.
    case never
}

/// The address on this machine to which the browser returns after a sign-in.
public struct RedirectRule: Sendable, Hashable {
    /// An address of this machine. The name `localhost` is not among them, because it can be made to mean
    /// another machine.
    public enum Loopback: String, Sendable, Hashable, CaseIterable {
        /// The address 127.0.0.1.
        case ipv4 = "127.0.0.1"
        /// The address ::1.
        case ipv6 = "::1"
    }

    /// The address.
    public var address: Loopback
    /// The port that is registered with the server; `nil` if the server accepts any port.
    public var port: UInt16?
    /// The path, which begins with a slash and is different for each profile.
    public var path: String

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The registered port; `nil` for any free port.
    ///   - path: The path, which begins with a slash.
    public init(address: Loopback = .ipv4, port: UInt16? = nil, path: String) {
        self.address = address
        self.port = port
        self.path = path
    }

    /// Returns the redirect URI for a port on which a listener waits.
    ///
    /// - Parameter port: The port.
    /// - Returns: The URI, which begins with `http://` because it never leaves this machine.
    public func uri(port: UInt16) -> String {
        let host = address == .ipv6 ? "[\(address.rawValue)]" : address.rawValue
        return "http://\(host):\(port)\(path)"
    }

    /// Throws `invalidInput` if the path or the port is invalid.
    func check() throws(CofferError) {
        let url = try? HTTPSURL("https://127.0.0.1" + path)
        guard let url, path.utf8.first == UInt8(ascii: "/"), url.query == nil, path.utf8.count <= 256,
            port != 0
        else {
            throw CofferError(
                .invalidInput,
                "A redirect's path must begin with a slash, must have no query and must be at most 256 bytes "
                    + "long, and its port must not be 0.")
        }
    }
}

/// The proxy through which a profile's server is reached.
public enum ProxyRule: Sendable, Hashable {
    /// None, whatever the environment says.
    case none
    /// The proxy that the environment names.
    case environment
    /// This proxy. Its credentials, if any, are the client's secret ``ClientSecret/proxy``.
    case server(host: String, port: UInt16)
}

/// The certificates with which a profile's server is verified.
public struct ServerTrust: Sendable, Hashable {
    /// Certificate authorities in PEM, which replace those of the system; `nil` for the system's.
    public var authorities: String?
    /// Public keys of which the server's key must be one: the SHA-256 digests of their
    /// `SubjectPublicKeyInfo`, 32 bytes each. An empty array permits any key.
    public var publicKeyDigests: [[UInt8]]

    /// Creates a trust.
    ///
    /// - Parameters:
    ///   - authorities: Certificate authorities in PEM; `nil` for the system's.
    ///   - publicKeyDigests: The SHA-256 digests of permitted public keys.
    public init(authorities: String? = nil, publicKeyDigests: [[UInt8]] = []) {
        self.authorities = authorities
        self.publicKeyDigests = publicKeyDigests
    }

    private static let maxByteCount = 1 << 17

    /// Throws `invalidInput` if the authorities are not PEM or a digest has another size.
    func check() throws(CofferError) {
        let isText = authorities.map { text in
            (1...Self.maxByteCount).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0 < 0x7F && ($0 >= 0x20 || $0 == 0x0A || $0 == 0x0D) }
        }
        guard isText ?? true else {
            throw CofferError(
                .invalidInput, "The certificate authorities must be PEM text of at most 128 KiB.")
        }
        guard publicKeyDigests.count <= 16, publicKeyDigests.allSatisfy({ $0.count == 32 }) else {
            throw CofferError(
                .invalidInput, "There may be at most 16 public key digests, each of which has 32 bytes.")
        }
    }
}

/// The answers of a server that mean more than the standards say.
public struct ServerQuirks: Sendable, Hashable {
    /// Error codes of the token endpoint that mean the same as `invalid_grant`.
    public var revokedCodes: [String]
    /// Error codes with which a resource server's status 403 means that the access token is to be renewed.
    public var renewalCodes: [String]
    /// Whether a status 403 without any code means that the access token is to be renewed.
    public var renewsOnBareForbidden: Bool
    /// A page that a redirect leads to when the access token is to be renewed: any URL that begins with this
    /// origin and path.
    public var signInPage: HTTPSURL?

    /// Creates a set of quirks.
    ///
    /// - Parameters:
    ///   - revokedCodes: Error codes that mean the same as `invalid_grant`.
    ///   - renewalCodes: Error codes that mean that the access token is to be renewed.
    ///   - renewsOnBareForbidden: Whether a status 403 without a code means the same.
    ///   - signInPage: The page to which a redirect means the same.
    public init(
        revokedCodes: [String] = [], renewalCodes: [String] = [], renewsOnBareForbidden: Bool = false,
        signInPage: HTTPSURL? = nil
    ) {
        self.revokedCodes = revokedCodes
        self.renewalCodes = renewalCodes
        self.renewsOnBareForbidden = renewsOnBareForbidden
        self.signInPage = signInPage
    }

    /// Throws `invalidInput` if a code is not a code.
    func check() throws(CofferError) {
        let codes = revokedCodes + renewalCodes
        let areCodes = codes.allSatisfy { code in
            (1...64).contains(code.utf8.count)
                && code.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        }
        guard codes.count <= 64, areCodes else {
            throw CofferError(
                .invalidInput,
                "There may be at most 64 error codes of a server, each of 1 to 64 printable ASCII "
                    + "characters.")
        }
    }
}
