@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Synchronization

/// An authorization server in memory, with the faults that a test sets.
final class TestAuthority: OAuthTransport {
    static let issuer = "https://login.example.org"
    static let clientID = "desk:top"

    /// A request that the server received.
    struct Exchange: Sendable {
        let method: HTTPRequest.Method
        let path: String
        let headers: [(name: String, value: String)]
        let form: [(name: String, value: String)]
        let hasCertificate: Bool

        func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
        func field(_ name: String) -> String? { form.first { $0.name == name }?.value }
    }

    /// A key that signs id tokens.
    final class Signer: Sendable {
        let key: JSONWebSigningKey
        let isPublished: Bool

        init(_ name: String?, isPublished: Bool = true) throws(CofferError) {
            key = try .generate(keyID: name)
            self.isPublished = isPublished
        }
    }

    /// The server's behaviour.
    struct Settings: Sendable {
        var signer: Signer
        /// Claims that replace those of the id token; `null` removes one.
        var claims: [String: JSONValue] = [:]
        /// Members that replace those of the answer with tokens; `null` removes one.
        var members: [String: JSONValue] = [:]
        /// Members that replace those of the discovery document.
        var discovery: [String: JSONValue] = [:]
        /// Parameters that replace those of the redirect; an empty value removes one.
        var redirect: [String: String] = [:]
        /// The nonce that proofs must contain.
        var nonce: String?
        /// Whether each refusal for want of a nonce makes the nonce invalid.
        var forgetsNonces = false
        /// The errors before the approval of a device.
        var polls: [String] = []
        /// The status without a reason with which parameters that are sent ahead are refused.
        var pushedRefusal: Int?
        /// Whether every code was redeemed before.
        var isCodeUsed = false
        /// The server's time, beside the clock's.
        var date: String?
        /// Whether what the client signs must have the server's time.
        var checksTimes = false
    }

    private struct State {
        var settings: Settings
        var exchanges: [Exchange] = []
        var requests: [String: [String: String]] = [:]
        var pushed: [String: [String: String]] = [:]
        var count = 0
    }

    private let state: Mutex<State>
    private let clock: TestClock

    init(_ clock: TestClock) throws(CofferError) {
        state = Mutex(State(settings: Settings(signer: try Signer("first"))))
        self.clock = clock
    }

    func change(_ body: (inout Settings) -> Void) { state.withLock { body(&$0.settings) } }

    /// The requests of a path so far.
    func exchanges(_ path: String) -> [Exchange] {
        state.withLock { state in state.exchanges.filter { $0.path == path } }
    }

    var count: Int { state.withLock { $0.exchanges.count } }

    // MARK: The browser's part

    /// Signs the user in at a URL, as a browser would, and returns the address to which the browser goes.
    func authorize(_ url: HTTPSURL) throws(CofferError) -> String {
        var parameters: [String: String] = [:]
        for (name, value) in try FormEncoding.decode(url.query ?? "") { parameters[name] = value }
        return try state.withLock { (state) throws(CofferError) -> String in
            if let reference = parameters["request_uri"] { parameters = state.pushed[reference] ?? [:] }
            state.count += 1
            let code = "code \(state.count)"
            state.requests[code] = parameters
            var answer = ["code": code, "state": parameters["state"] ?? ""]
            answer.merge(state.settings.redirect) { $1 }
            let fields = answer.filter { !$0.value.isEmpty }.map { (name: $0.key, value: $0.value) }
            return (parameters["redirect_uri"] ?? "") + "?" + FormEncoding.encode(fields)
        }
    }

    // MARK: The client's part

    func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse {
        let exchange = try Self.exchange(of: request)
        let now = clock.source.wallClock().components.seconds
        return try state.withLock { (state) throws(CofferError) -> HTTPResponse in
            state.exchanges.append(exchange)
            switch exchange.path {
            case "/.well-known/oauth-authorization-server":
                return try Self.response(200, Self.discovery(state.settings))
            case "/keys": return try Self.response(200, Self.keys(state.settings))
            case "/revoke": return try Self.response(200, [:])
            case "/par":
                if let status = state.settings.pushedRefusal {
                    return HTTPResponse(status: status, headers: [], body: try SecretBytes.copying(""))
                }
                state.count += 1
                let reference = "urn:example:\(state.count)"
                state.pushed[reference] = Dictionary(exchange.form.map { ($0.name, $0.value) }) { $1 }
                return try Self.response(
                    201, ["request_uri": .string(reference), "expires_in": 60])
            case "/device":
                return try Self.response(
                    200,
                    [
                        "device_code": "device", "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 5,
                        "verification_uri": "https://login.example.org/activate",
                    ])
            case "/me": return try Self.response(200, ["name": "Ada"])
            case "/token": return try Self.token(exchange, &state, now)
            default: return try Self.response(404, [:])
            }
        }
    }

    private static func exchange(of request: HTTPRequest) throws(CofferError) -> Exchange {
        let body = try request.exposingBody { (bytes) throws(CofferError) -> [UInt8] in bytes.copied() }
        let headers = request.headers.map { field in
            (
                name: field.name,
                value: String(decoding: field.value.exposing { $0.copied() }, as: UTF8.self)
            )
        }
        return Exchange(
            method: request.method, path: request.url.path, headers: headers,
            form: try FormEncoding.decode(String(decoding: body, as: UTF8.self)),
            hasCertificate: request.security.clientCertificate != nil)
    }

    private static func discovery(_ settings: Settings) -> [String: JSONValue] {
        var document: [String: JSONValue] = [
            "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
            "revocation_endpoint": .string(issuer + "/revoke"),
            "device_authorization_endpoint": .string(issuer + "/device"),
        ]
        document.merge(settings.discovery) { $1 }
        return document
    }

    private static func keys(_ settings: Settings) throws(CofferError) -> [String: JSONValue] {
        guard settings.signer.isPublished, var key = try settings.signer.key.publicKey.json().object else {
            return ["keys": []]
        }
        key["kid"] = settings.signer.key.publicKey.keyID.map { .string($0) }
        return ["keys": [.object(key)]]
    }

    private static func token(
        _ exchange: Exchange, _ state: inout State, _ now: Int64
    ) throws(CofferError) -> HTTPResponse {
        let settings = state.settings
        if let error = try timeError(exchange, settings) {
            return try response(
                401, ["error": .string(error)], settings.date.map { [(name: "date", value: $0)] } ?? [])
        }
        var members: [String: JSONValue] = [
            "access_token": "access", "refresh_token": "refresh", "token_type": "Bearer", "expires_in": 600,
        ]
        if let proof = exchange.header("DPoP") {
            guard try TestProof(proof).nonce == settings.nonce else {
                if settings.forgetsNonces { state.settings.nonce = "another-nonce" }
                return try response(
                    400, ["error": "use_dpop_nonce"], [(name: "dpop-nonce", value: settings.nonce ?? "")])
            }
            members["token_type"] = "DPoP"
        }
        var request: [String: String] = [:]
        if exchange.field("grant_type") == "authorization_code" {
            let verifier = try SecretBytes.copying(exchange.field("code_verifier") ?? "")
            let challenge = try PKCE.make(verifier: verifier).challenge
            guard let known = state.requests[exchange.field("code") ?? ""], !settings.isCodeUsed,
                known["redirect_uri"] == exchange.field("redirect_uri"), known["code_challenge"] == challenge
            else { return try response(400, ["error": "invalid_grant"]) }
            request = known
        } else if !settings.polls.isEmpty {
            return try response(
                400, ["error": .string(state.settings.polls.removeFirst())],
                settings.date.map { [(name: "date", value: $0)] } ?? [])
        }
        if exchange.field("grant_type") != "refresh_token" {
            members["id_token"] = .string(try idToken(settings, request["nonce"], now))
        }
        replace(&members, settings.members)
        return try response(200, members, settings.date.map { [(name: "date", value: $0)] } ?? [])
    }

    /// The error for an assertion or a proof that is more than a minute off the server's time.
    private static func timeError(
        _ exchange: Exchange, _ settings: Settings
    ) throws(CofferError) -> String? {
        guard settings.checksTimes, let now = settings.date.flatMap({ ServerTime.seconds($0) }) else {
            return nil
        }
        let signed = [
            (exchange.field("client_assertion"), "invalid_client"),
            (exchange.header("DPoP"), "invalid_dpop_proof"),
        ]
        for case (let token?, let error) in signed {
            let claims = try JSONValue(parsing: try Base64URL.decode(token.parts(between: ".")[1]))
            guard let issued = claims["iat"]?.integer, abs(issued - now) <= 60 else { return error }
        }
        return nil
    }

    private static func idToken(
        _ settings: Settings, _ nonce: String?, _ now: Int64
    ) throws(CofferError) -> String {
        var claims: [String: JSONValue] = [
            "iss": .string(issuer), "aud": .string(clientID), "sub": "user 7", "iat": .integer(now),
            "exp": .integer(now + 300),
        ]
        claims["nonce"] = nonce.map { .string($0) }
        replace(&claims, settings.claims)
        return text(try JSONWebToken.signing(.object(claims), with: settings.signer.key))
    }

    /// Replaces members; `null` removes one. A `nil` in an expression with JSON values would be `null`.
    private static func replace(_ members: inout [String: JSONValue], _ changes: [String: JSONValue]) {
        for (name, value) in changes {
            if value == .null {
                members.removeValue(forKey: name)
            } else {
                members[name] = value
            }
        }
    }

    private static func response(
        _ status: Int, _ members: [String: JSONValue], _ headers: [(name: String, value: String)] = []
    ) throws(CofferError) -> HTTPResponse {
        let body = try SecretBytes.copying(JSONValue.object(members).jsonText())
        let type = (name: "content-type", value: "application/json")
        return HTTPResponse(status: status, headers: headers + [type], body: body)
    }
}

/// A proof of the possession of a key, whose signature was verified.
struct TestProof {
    let claims: JSONValue
    let thumbprint: String

    var nonce: String? { claims["nonce"]?.string }

    init(_ proof: String) throws(CofferError) {
        let parts = proof.parts(between: ".")
        let header = try JSONValue(parsing: try Base64URL.decode(parts.first ?? ""))
        let key = try JSONWebKey(parsing: header["jwk"] ?? .null)
        let token = try JSONWebToken(
            verifying: try SecretBytes.copying(proof), keys: JSONWebKeySet([key]), algorithms: [.es256],
            types: ["dpop+jwt"])
        claims = token.claims
        thumbprint = try key.thumbprint()
    }
}
