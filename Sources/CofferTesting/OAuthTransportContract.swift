import CofferBase
import CofferCrypto
import CofferEngine
public import CofferOAuth

/// The laws that every `OAuthTransport` must keep. Run them on your own transport:
///
/// ```swift
/// @Test(arguments: OAuthTransportContract.laws)
/// func law(_ law: OAuthTransportContract) async throws {
///     try await ScriptedServer.with { try await law.check(MyTransport(), on: $0) }
/// }
/// ```
public struct OAuthTransportContract: Sendable, CustomStringConvertible {
    /// A law that a transport broke.
    public struct Violation: Error, CustomStringConvertible {
        /// The law, and what happened instead.
        public let description: String
    }

    /// The law in a few words.
    public let description: String
    private let body: @Sendable (Bench) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (Bench) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Checks the law.
    ///
    /// - Parameters:
    ///   - transport: The transport.
    ///   - server: A server for this law alone.
    /// - Throws: A ``Violation`` if the transport breaks the law; any other error that prevents the check.
    public func check(_ transport: any OAuthTransport, on server: ScriptedServer) async throws {
        try await body(Bench(law: description, transport: transport, server: server))
    }

    /// Every law.
    public static let laws: [OAuthTransportContract] = messages + framing + faults + connections

    /// A transport, a server and what to do with both.
    struct Bench: Sendable {
        let law: String
        let transport: any OAuthTransport
        let server: ScriptedServer

        /// Sends a request of `/x` and returns the response.
        func exchange(
            _ method: HTTPRequest.Method = .get, headers: [HTTPField] = [], body: String? = nil,
            limits: HTTPLimits = HTTPLimits(), security: TransportSecurity? = nil,
            certificate: ScriptedServer.Certificate = .valid
        ) async throws(CofferError) -> HTTPResponse {
            let url = try server.url("/x?a=b%20c", certificate: certificate)
            let security = security ?? server.security
            guard let body else {
                return try await transport.exchange(
                    HTTPRequest(
                        method: method, url: url, headers: headers, limits: limits, security: security))
            }
            return try await transport.exchange(
                HTTPRequest(
                    method: method, url: url, headers: headers, body: try SecretBytes.copying(body),
                    limits: limits, security: security))
        }

        /// Sets the answer to the next requests of `/x`.
        func answer(_ answer: ScriptedAnswer) async throws { try await server.answer("/x", answer) }

        /// Throws a violation unless `condition` holds.
        func require(_ condition: Bool, _ finding: @autoclosure () -> String) throws {
            guard condition else { throw Violation(description: "\(law): \(finding())") }
        }

        /// Throws a violation unless an exchange fails with one of these codes.
        func requireFailure(
            _ codes: CofferError.Code..., limits: HTTPLimits = HTTPLimits(),
            security: TransportSecurity? = nil, certificate: ScriptedServer.Certificate = .valid
        ) async throws {
            do throws(CofferError) {
                let response = try await exchange(
                    limits: limits, security: security, certificate: certificate)
                throw CofferError(.internalFailure, "there was a response with status \(response.status)")
            } catch {
                try require(codes.contains(error.code), "\(error)")
            }
        }

        /// Throws a violation unless a response has this body.
        func require(_ response: HTTPResponse, body: String, isComplete: Bool) throws {
            let text = Self.text(of: response)
            try require(text.hasSameBytes(as: body), "the body is \(text)")
            try require(response.isComplete == isComplete, "isComplete is \(response.isComplete)")
        }

        static func text(of response: HTTPResponse) -> String {
            response.body.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }
}
