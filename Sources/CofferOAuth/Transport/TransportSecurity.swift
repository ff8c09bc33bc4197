import CofferBase
public import CofferCrypto

/// The rules for connections to a server: whom to trust, how to authenticate, and which way to go. TLS 1.2 or
/// later is used in any case, and the server's certificate and name are always checked.
public struct TransportSecurity: Sendable {
    /// The certificate authorities that a server's certificate may come from.
    public enum Trust: Sendable, Hashable {
        /// The authorities of the system's store. The environment does not override it.
        case system
        /// These authorities only: certificates in PEM.
        case certificates([UInt8])
    }

    /// A client certificate and its private key, for mutual TLS.
    public struct ClientCertificate: Sendable {
        /// The certificates in PEM, the client's own first.
        public let chain: [UInt8]
        let key: SecretBox

        /// Creates a client certificate.
        ///
        /// - Parameters:
        ///   - chain: The certificates in PEM, the client's own first.
        ///   - key: The private key of the first certificate: P-256, or RSA with 2048 to 8192 bits, as a
        ///     PKCS #8 file in PEM (`BEGIN PRIVATE KEY`) or DER without a passphrase.
        public init(chain: [UInt8], key: consuming SecretBytes) {
            self.chain = chain
            self.key = SecretBox(key)
        }
    }

    /// The authorities to trust.
    public var trust: Trust
    /// SHA-256 hashes of public keys in DER (SubjectPublicKeyInfo). If there are any, the server's key must
    /// be one of them, in addition to the check of its certificate.
    public var pins: [[UInt8]]
    /// The client's certificate; `nil` for none.
    public var clientCertificate: ClientCertificate?
    /// The way to the server. Addresses of this machine are always reached directly.
    public var proxy: TransportProxy

    /// Creates the rules.
    ///
    /// - Parameters:
    ///   - trust: The authorities to trust.
    ///   - pins: SHA-256 hashes of the public keys to require; empty for any key.
    ///   - clientCertificate: The client's certificate; `nil` for none.
    ///   - proxy: The way to the server.
    public init(
        trust: Trust = .system, pins: [[UInt8]] = [], clientCertificate: ClientCertificate? = nil,
        proxy: TransportProxy = .none
    ) {
        self.trust = trust
        self.pins = pins
        self.clientCertificate = clientCertificate
        self.proxy = proxy
    }

    /// Checks the parts that can be checked without a connection.
    ///
    /// - Throws: `invalidInput` if a part is not allowed.
    func check() throws(CofferError) {
        guard pins.allSatisfy({ $0.count == 32 }) else {
            throw CofferError(.invalidInput, "A pin of a public key must be a SHA-256 hash of 32 bytes.")
        }
        if case .certificates(let text) = trust, text.isEmpty {
            throw CofferError(.invalidInput, "The list of trusted certificates is empty.")
        }
        try proxy.check()
    }
}
