@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("Device, pushed request and introspection")
struct ServerDocumentTests {
    private static let device =
        "\"device_code\":\"d\",\"user_code\":\"AB CD\",\"verification_uri\":\"https://e.example/d\""

    @Test(
        "A device answer with a missing or wrong member is refused",
        arguments: [
            "{}", "{\(device)}", "{\(device),\"expires_in\":0}", "{\(device),\"expires_in\":\"600\"}",
            "{\(device),\"expires_in\":600,\"interval\":\"5\"}",
            "{\"device_code\":\"d\",\"user_code\":\"A\",\"verification_uri\":\"http://e.example\","
                + "\"expires_in\":9}",
            "{\"device_code\":\"d\\n\",\"user_code\":\"A\",\"verification_uri\":\"https://e.example\","
                + "\"expires_in\":9}",
            "{\"device_code\":\"d\",\"user_code\":\"\\u001b[2J\",\"verification_uri\":\"https://e.example\","
                + "\"expires_in\":9}",
        ])
    func refusesDevice(_ body: String) {
        #expect(failure { _ = try DeviceAuthorization(answer(200, body)) } == .serverMalformed)
    }

    @Test("A device answer is read, with limits on its times")
    func readsDevice() throws {
        let plain = try DeviceAuthorization(answer(200, "{\(Self.device),\"expires_in\":600}"))
        #expect(text(plain.deviceCode) == "d" && plain.userCode == "AB CD")
        #expect(plain.verificationURL.text == "https://e.example/d" && plain.completeVerificationURL == nil)
        #expect(plain.lifetime == 600 && plain.interval == 5)
        let odd = try DeviceAuthorization(
            answer(
                200,
                "{\(Self.device),\"expires_in\":99999,\"interval\":0,"
                    + "\"verification_uri_complete\":\"https://e.example/d?c=A\"}"))
        #expect(odd.lifetime == 1800 && odd.interval == 1)
        #expect(odd.completeVerificationURL?.text == "https://e.example/d?c=A")
    }

    @Test("Refusals carry the server's code; what is temporary is told apart")
    func refusals() throws {
        let body = "{\"error\":\"invalid_client\"}"
        do {
            _ = try PushedAuthorizationResponse(answer(401, body))
            Issue.record("A refusal was accepted.")
        } catch {
            let refusal = error as? CofferError
            #expect(refusal?.code == .serverRefused && refusal?.serverCode == "invalid_client")
        }
        #expect(failure { _ = try PushedAuthorizationResponse(answer(503, body)) } == .serverUnreachable)
        #expect(failure { _ = try PushedAuthorizationResponse(answer(302)) } == .redirectRefused)
        #expect(failure { _ = try PushedAuthorizationResponse(answer(400)) } == .serverRefused)
        for cut in ["", "{\"error\":\"invalid_client\"", "<p>no</p>"] {
            let response = try answer(401, cut, isComplete: false)
            #expect(failure { _ = try PushedAuthorizationResponse(response) } == .serverUnreachable)
        }
        let whole = try answer(401, body, isComplete: false)
        #expect(failure { _ = try PushedAuthorizationResponse(whole) } == .serverRefused)
    }

    @Test("An answer whose end the connection does not show counts if its JSON is whole")
    func unframed() throws {
        let pushed = "{\"request_uri\":\"urn:x\",\"expires_in\":60}"
        let response = try PushedAuthorizationResponse(answer(201, pushed, isComplete: false))
        #expect(response.requestURI == "urn:x")
        let state = "{\"active\":true}"
        #expect(try IntrospectionResponse(answer(200, state, isComplete: false)).isActive)
        for count in 0..<state.utf8.count {
            let piece = try answer(
                200, String(decoding: state.utf8.prefix(count), as: UTF8.self), isComplete: false)
            #expect(failure { _ = try IntrospectionResponse(piece) } == .serverUnreachable)
        }
    }

    @Test("The answer to a pushed request")
    func pushed() throws {
        for body in [
            "", "{}", "{\"request_uri\":\"urn:x\"}", "{\"request_uri\":\"\",\"expires_in\":60}",
            "{\"request_uri\":\"a b\",\"expires_in\":60}", "{\"request_uri\":\"urn:x\",\"expires_in\":-1}",
        ] {
            #expect(
                failure { _ = try PushedAuthorizationResponse(answer(201, body)) } == .serverMalformed,
                "\(body)")
        }
        let response = try PushedAuthorizationResponse(
            answer(201, "{\"request_uri\":\"urn:ietf:params:oauth:request_uri:x\",\"expires_in\":9999}"))
        #expect(response.requestURI == "urn:ietf:params:oauth:request_uri:x" && response.lifetime == 600)
    }

    @Test("Introspection: an inactive token has no properties")
    func introspection() throws {
        for body in ["", "{}", "{\"active\":\"true\"}", "{\"active\":1}", "{\"active\":true,\"exp\":\"1\"}"] {
            #expect(
                failure { _ = try IntrospectionResponse(answer(200, body)) } == .serverMalformed, "\(body)")
        }
        let rest =
            ",\"scope\":\"a b\",\"client_id\":\"c\",\"username\":\"u\",\"token_type\":\"Bearer\",\"exp\":9,"
            + "\"iat\":8,\"nbf\":7,\"sub\":\"s\",\"aud\":[\"x\",\"y\"],\"iss\":\"i\",\"jti\":\"j\"}"
        let active = try IntrospectionResponse(answer(200, "{\"active\":true" + rest))
        #expect(active.isActive && active.scopes == ["a", "b"] && active.clientID == "c")
        #expect(active.username == "u" && active.tokenType == "Bearer" && active.subject == "s")
        #expect(active.expiry == 9 && active.issuedAt == 8 && active.notBefore == 7)
        #expect(active.audiences == ["x", "y"] && active.issuer == "i" && active.tokenID == "j")
        let inactive = try IntrospectionResponse(answer(200, "{\"active\":false" + rest))
        #expect(try inactive == IntrospectionResponse(answer(200, "{\"active\":false}")))
        #expect(!inactive.isActive && inactive.scopes.isEmpty && inactive.expiry == nil)
    }
}
