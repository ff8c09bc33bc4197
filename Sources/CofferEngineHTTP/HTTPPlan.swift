package import CofferEngine

/// The public part of an exchange with a server. Secrets are passed beside it, as spans.
package struct HTTPPlan: Sendable {
    /// The method in upper case.
    package var method: String
    /// The URL, which begins with `https://`.
    package var url: String
    /// The content of the request's `User-Agent` field.
    package var userAgent: String
    /// Whether the request has a body, which may be empty.
    package var hasBody: Bool
    /// The trusted certificates in PEM; `nil` for the system's.
    package var authorities: [UInt8]?
    /// The pins of the server's public key, in libcurl's form: `sha256//` and base64, separated by `;`.
    package var pins: String?
    /// The client's certificate chain in PEM; `nil` for none.
    package var certificates: [UInt8]?
    /// How the bytes of the client's private key are to be read; `nil` for none.
    package var clientKey: TLSClientKey.Form?
    /// The URL of the proxy; `nil` for none.
    package var proxy: String?
    /// Whether the proxy gets a user name and a password.
    package var hasProxyCredentials: Bool
    /// The maximum size of the response's status lines and fields in bytes.
    package var headLimit: Int
    /// The maximum size of the response's body in bytes.
    package var bodyLimit: Int
    /// The maximum time until the connection is established.
    package var connectTime: Duration
    /// The maximum time until the exchange is complete.
    package var totalTime: Duration
    /// The lowest rate in bytes a second, from the first byte of the response on; 0 for none.
    package var lowestRate: Int
    /// The time after which a lower rate ends the exchange.
    package var lowestRateTime: Duration

    /// Creates a plan for a request without a body, to a server that the system trusts, without a proxy.
    package init(method: String, url: String, userAgent: String) {
        self.method = method
        self.url = url
        self.userAgent = userAgent
        hasBody = false
        authorities = nil
        pins = nil
        certificates = nil
        clientKey = nil
        proxy = nil
        hasProxyCredentials = false
        headLimit = 32 << 10
        bodyLimit = 256 << 10
        connectTime = .seconds(10)
        totalTime = .seconds(30)
        lowestRate = 0
        lowestRateTime = .seconds(10)
    }
}
