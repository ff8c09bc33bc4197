@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// A request for the tests of signing in, and clients of the listener.
enum SignInSamples {
    static let issuer = "https://login.example.org"

    static func request(
        redirectURI: String = "http://127.0.0.1:8400/callback", requiresIssuer: Bool = false,
        scopes: [String] = [], resources: [HTTPSURL] = [], extra: [(name: String, value: String)] = [],
        now: Duration = Clock.sinceBoot
    ) throws(CofferError) -> AuthorizationRequest {
        try .make(
            AuthorizationRequest.Contents(
                issuer: issuer, requiresIssuer: requiresIssuer, clientID: "client", redirectURI: redirectURI,
                scopes: scopes, resources: resources, extra: extra), now: now)
    }

    static func text(_ secret: borrowing SecretBytes) -> String {
        String(decoding: secret.guarded.span.copied(), as: UTF8.self)
    }

    /// Judges a query as the listener does.
    static func check(
        _ query: String, for request: AuthorizationRequest
    ) throws(CofferError) -> AuthorizationRedirect {
        let parameters = try RedirectParameters.parse(Array(query.utf8).span)
        return try AuthorizationRedirect.check(parameters, for: request)
    }
}

/// A listener that serves one request, and clients that speak to it.
struct SignInRun {
    /// Long enough for a machine on which other tests keep every thread.
    static let deadline = Duration.seconds(600)

    let listener: LoopbackListener
    let request: AuthorizationRequest
    private let task: Task<Result<AuthorizationRedirect, CofferError>, Never>

    init(
        grace: Duration = .milliseconds(1), connection: Duration = SignInRun.deadline,
        limit: Duration = SignInRun.deadline,
        requiresIssuer: Bool = false
    ) throws {
        var limits = RedirectServer.Limits()
        limits.grace = grace
        limits.connection = connection
        let listener = try LoopbackListener.start(
            path: "/callback", port: 0, address: .ipv4, limits: limits)
        let request = try SignInSamples.request(
            redirectURI: listener.redirectURI, requiresIssuer: requiresIssuer)
        task = Task { () async -> Result<AuthorizationRedirect, CofferError> in
            do throws(CofferError) {
                return .success(try await listener.redirect(for: request, within: limit))
            } catch {
                return .failure(error)
            }
        }
        self.listener = listener
        self.request = request
    }

    /// The listener's outcome.
    func outcome() async -> Result<AuthorizationRedirect, CofferError> { await task.value }

    func cancel() { task.cancel() }

    var state: String { SignInSamples.text(request.state) }
    var host: String { "127.0.0.1:\(listener.port)" }

    /// A request with this query and the right headers.
    func get(_ query: String) -> String { "GET /callback?\(query) HTTP/1.1\r\nHost: \(host)\r\n\r\n" }

    func connect() throws -> LoopbackConnection {
        try .connecting(to: .ipv4, port: listener.port, deadline: Self.deadline)
    }

    /// The code of the outcome's error, or the code that arrived.
    func result() async throws -> String {
        switch await outcome() {
        case .success(let redirect): SignInSamples.text(try redirect.code())
        case .failure(let error): error.code.name
        }
    }

    /// Sends `text`, in pieces of `size` bytes, and returns all that comes back until the connection ends.
    func ask(_ text: String, pieces size: Int = .max) async throws -> String {
        try await Self.ask(try connect(), Array(text.utf8), size)
    }

    /// Sends `text` on a connection and returns all that comes back until the connection ends.
    static func ask(
        _ connection: LoopbackConnection, _ bytes: [UInt8], _ size: Int = .max
    ) async throws -> String {
        try await BlockingExecutor.run { (_) throws(CofferError) -> String in
            let end = Clock.sinceBoot + deadline
            var sent = 0
            while sent < bytes.count {
                guard Clock.sinceBoot < end else { throw CofferError(.timedOut, "Nothing is read.") }
                let piece = bytes.span.extracting(sent..<min(bytes.count - sent, size) + sent)
                guard let count = connection.write(piece) else { break }
                sent += count
            }
            var answer: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while Clock.sinceBoot < end {
                _ = try connection.waitForInput(milliseconds: 1000)
                var span = buffer.mutableSpan
                switch connection.read(into: &span) {
                case .bytes(let count): answer += buffer.prefix(count)
                case .nothing: continue
                case .end: return String(decoding: answer, as: UTF8.self)
                }
            }
            throw CofferError(.timedOut, "The connection does not end.")
        }
    }
}
