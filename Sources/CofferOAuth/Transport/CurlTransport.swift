import Coffer
public import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineHTTP

/// The transport over libcurl: HTTP/1.1 over TLS, one connection for each exchange.
///
/// It follows no redirect, remembers nothing (no cookies, no cache, no sessions, no addresses), reads no
/// `.netrc`, and takes neither a route nor a store of certificates from the environment unless
/// ``TransportProxy/environment`` is chosen. In a build without the trait `OAuth`, every exchange throws
/// `unsupported`.
///
/// The libraries below read three variables all the same, and a program that must not depend on them removes
/// them before its first exchange. `OPENSSL_CONF` and `OPENSSL_MODULES` choose OpenSSL's configuration and
/// providers. For `SSLKEYLOGFILE`, libcurl creates the file, which stays empty: no session key is written.
public struct CurlTransport: OAuthTransport {
    /// Creates the transport.
    public init() {}

    /// The version of the loaded libcurl; `nil` in a build without the trait `OAuth`.
    public static var libraryVersion: String? { HTTPLibrary.version }

    /// Whether libcurl's buffers are cleared after use, and locked in memory as far as the limit for locked
    /// memory allows it. This is `false` if other code of the program, such as Foundation's `URLSession`,
    /// initialised libcurl first: copies of tokens may then remain in memory. Make the first use of a
    /// transport before such code runs.
    public static var isMemoryCleared: Bool { HTTPLibrary.isMemoryCleared }

    /// Sends a request and receives the response, on a thread of its own.
    ///
    /// - Parameter request: The request, which is sent at most once.
    /// - Returns: The response, whatever its status.
    /// - Throws: The errors that ``OAuthTransport/exchange(_:)`` describes.
    public func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse {
        try request.check()
        let plan = try Self.plan(for: request)
        return try await BlockingExecutor.run { (cancellation) throws(CofferError) in
            try Self.perform(request, plan) { cancellation.isCancelled }
        }
    }

    private static func plan(for request: HTTPRequest) throws(CofferError) -> HTTPPlan {
        let security = request.security
        var plan = HTTPPlan(
            method: request.method.rawValue, url: request.url.text,
            userAgent: "Coffer/\(PackageVersion.current)")
        plan.hasBody = request.content != nil || [.post, .put, .patch].contains(request.method)
        if case .certificates(let text) = security.trust { plan.authorities = text }
        if !security.pins.isEmpty {
            var pins: [String] = []
            for pin in security.pins {
                pins.append("sha256//" + String(decoding: try Encoding.base64Text(pin), as: UTF8.self))
            }
            plan.pins = pins.joined(separator: ";")
        }
        plan.certificates = security.clientCertificate?.chain
        plan.proxy = try security.proxy.url(for: request.url)
        if case .server(let server) = security.proxy, plan.proxy != nil {
            plan.hasProxyCredentials = server.user != nil
        }
        plan.headLimit = request.limits.headerBytes
        plan.bodyLimit = request.limits.body
        plan.connectTime = min(request.limits.connect, request.limits.exchange)
        plan.totalTime = request.limits.exchange
        // Rounded up: a small rate is not the same as none.
        plan.lowestRate = (request.limits.lowestRate + 9) / 10
        return plan
    }

    private static func perform(
        _ request: HTTPRequest, _ plan: HTTPPlan, isCancelled: () -> Bool
    ) throws(CofferError) -> HTTPResponse {
        let fields = try lines(of: request)
        let credentials = try proxyCredentials(of: request)
        let outcome = try request.content.exposing { (body) throws(CofferError) -> HTTPOutcome in
            try withClientKey(of: request) { (form, key) throws(CofferError) -> HTTPOutcome in
                var plan = plan
                plan.clientKey = form
                return try HTTPExchange.run(
                    plan, fields: fields.span, body: body, key: key, proxyCredentials: credentials.span,
                    isCancelled: isCancelled)
            }
        }
        let failure = outcome.failure
        if let failure, !isInterruption(failure, bodyCount: outcome.body.count) { throw failure }
        guard let head = try head(of: outcome, request.limits) else {
            throw failure
                ?? CofferError(
                    .serverUnreachable, "The connection ended before the header of the response was complete."
                )
        }
        try head.check()
        let isWhole = head.isLengthReached(
            outcome.body.count, isBodyless: request.method == .head, isClosed: outcome.isClosed)
        return HTTPResponse(
            status: head.status, headers: head.fields, body: SecretBytes(outcome.takeBody()),
            isComplete: failure == nil && isWhole)
    }

    /// Calls `body` with the private key of the client's certificate, or without one.
    private static func withClientKey<Result: ~Copyable>(
        of request: HTTPRequest,
        _ body: (TLSClientKey.Form?, Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        guard let file = request.security.clientCertificate?.key else {
            let none: [UInt8] = []
            return try body(nil, none.span)
        }
        let key = try CertificateKey.importing(file.bytes)
        let form = key.form
        return try key.secret.exposing { (bytes) throws(CofferError) -> Result in try body(form, bytes) }
    }

    private static func head(
        of outcome: borrowing HTTPOutcome, _ limits: HTTPLimits
    ) throws(CofferError) -> HTTPHead? {
        try HTTPHead.parse(outcome.head.span, maximumFields: limits.headerFields)
    }

    /// Whether what arrived is worth more than the error: it may be the only copy of a new token.
    private static func isInterruption(_ failure: CofferError, bodyCount: Int) -> Bool {
        switch failure.code {
        case .serverUnreachable, .timedOut: true
        case .cancelled: bodyCount > 0
        default: false
        }
    }

    /// Returns the fields as lines, each followed by a zero byte.
    private static func lines(of request: HTTPRequest) throws(CofferError) -> GuardedBytes {
        var buffer = try GuardedBuffer.make(limit: 1 << 20)
        var hasType = false
        for field in request.headers {
            if field.name.foldedASCII.hasSameBytes(as: "content-type") { hasType = true }
            try buffer.append(field.name + ": ")
            try field.content.bytes.exposing { (value) throws(CofferError) in try buffer.append(value) }
            try buffer.append("\0")
        }
        // libcurl would name a type of its own for a body; a name and a colon alone prevent that.
        if !hasType { try buffer.append("Content-Type:\0") }
        return try buffer.finish()
    }

    /// Returns the proxy's user name and password in percent-encoding, which libcurl decodes.
    private static func proxyCredentials(of request: HTTPRequest) throws(CofferError) -> GuardedBytes {
        var buffer = try GuardedBuffer.make(limit: 256 << 10)
        if case .server(let server) = request.security.proxy, let user = server.user,
            let password = server.password
        {
            try buffer.append(FormEncoding.percentEncoded(user) + ":")
            let encoded = try FormEncoding.percentEncoded(password.bytes)
            try encoded.exposing { (value) throws(CofferError) in try buffer.append(value) }
            try buffer.append("\0")
        }
        return try buffer.finish()
    }
}
