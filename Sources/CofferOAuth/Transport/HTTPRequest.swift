public import CofferBase
public import CofferCrypto

/// A request to a server.
public struct HTTPRequest: Sendable {
    /// The method of a request.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// GET, which has no body.
        case get = "GET"
        /// POST.
        case post = "POST"
        /// PUT.
        case put = "PUT"
        /// PATCH.
        case patch = "PATCH"
        /// DELETE.
        case delete = "DELETE"
        /// HEAD, which has no body and whose response has none.
        case head = "HEAD"
    }

    /// The method.
    public let method: Method
    /// The URL.
    public let url: HTTPSURL
    /// The fields, without those that the transport writes itself, such as `Host` and `Content-Length`.
    public var headers: [HTTPField]
    /// The limits of the response.
    public var limits: HTTPLimits
    /// The rules for the connection.
    public var security: TransportSecurity
    let content: SecretBox?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL.
    ///   - headers: The fields, without those that the transport writes itself.
    ///   - body: The body; `nil` for none.
    ///   - limits: The limits of the response.
    ///   - security: The rules for the connection.
    public init(
        method: Method, url: HTTPSURL, headers: [HTTPField] = [], body: consuming SecretBytes? = nil,
        limits: HTTPLimits = HTTPLimits(), security: TransportSecurity = TransportSecurity()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.limits = limits
        self.security = security
        switch consume body {
        case .some(let bytes): content = SecretBox(bytes)
        case .none: content = nil
        }
    }

    /// The size of the body in bytes; `nil` if the request has none.
    public var bodyCount: Int? { content.map { $0.bytes.count } }

    /// Calls `body` with the bytes of the request's body, or with none if it has no body. Copies that `body`
    /// makes are not guarded.
    ///
    /// - Parameter body: A closure that reads the bytes.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    public func exposingBody<Result: ~Copyable>(
        _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        try content.exposing(body)
    }

    /// Checks what every transport has to check.
    ///
    /// - Throws: `invalidInput` if the request is not allowed.
    func check() throws(CofferError) {
        guard content == nil || (method != .get && method != .head) else {
            throw CofferError(.invalidInput, "A \(method.rawValue) request must not have a body.")
        }
        for field in headers { try field.check() }
        try limits.check()
        try security.check()
    }
}
