@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("Forms of an access token")
struct TokenFormatTests {
    private static let token = Array("vF9dft4qmT\"c\\2/=".utf8)

    @Test(
        "A token that no header can carry is refused",
        arguments: ["", "a b", "a\n", "a\0", "\u{E9}", "a\u{7F}"])
    func refusesTokens(_ token: String) {
        let bytes = Array(token.utf8)
        #expect(failure { _ = try TokenFormat.authorization(bytes.span) } == .refused)
        #expect(failure { _ = try TokenFormat.header(bytes.span) } == .refused)
        #expect(failure { _ = try TokenFormat.xoauth2(bytes.span, user: "u") } == .refused)
        #expect(failure { _ = try TokenFormat.oauthbearer(bytes.span, user: "u") } == .refused)
        #expect(failure { _ = try TokenFormat.kubernetes(bytes.span) } == .refused)
    }

    @Test(
        "A name or a time that would change the form is refused",
        arguments: ["", "a\u{1}b", "a\nb", "a\"b\n"])
    func refusesNames(_ name: String) {
        let token = Self.token
        #expect(failure { _ = try TokenFormat.xoauth2(token.span, user: name) } == .invalidInput)
        #expect(failure { _ = try TokenFormat.oauthbearer(token.span, user: name) } == .invalidInput)
        #expect(
            failure { _ = try TokenFormat.oauthbearer(token.span, user: nil, host: name) } == .invalidInput)
        #expect(failure { _ = try TokenFormat.kubernetes(token.span, expiry: name) } == .invalidInput)
    }

    @Test("Headers")
    func headers() throws {
        let token = Self.token
        #expect(try text(TokenFormat.authorization(token.span)) == "Bearer vF9dft4qmT\"c\\2/=")
        #expect(try text(TokenFormat.header(token.span)) == "Authorization: Bearer vF9dft4qmT\"c\\2/=")
        #expect(try text(TokenFormat.authorization(token.span, type: .dpop)) == "DPoP vF9dft4qmT\"c\\2/=")
    }

    @Test("SASL strings")
    func sasl() throws {
        let token = Array("vF9dft4qmT".utf8)
        // user=u@e^Aauth=Bearer vF9dft4qmT^A^A
        #expect(
            try text(TokenFormat.xoauth2(token.span, user: "u@e"))
                == "dXNlcj11QGUBYXV0aD1CZWFyZXIgdkY5ZGZ0NHFtVAEB")
        // n,a=a=2Cb=3D,^Ahost=h^Aport=143^Aauth=Bearer vF9dft4qmT^A^A
        #expect(
            try text(TokenFormat.oauthbearer(token.span, user: "a,b=", host: "h", port: 143))
                == "bixhPWE9MkNiPTNELAFob3N0PWgBcG9ydD0xNDMBYXV0aD1CZWFyZXIgdkY5ZGZ0NHFtVAEB")
        // n,,^Aauth=Bearer vF9dft4qmT^A^A
        #expect(
            try text(TokenFormat.oauthbearer(token.span, user: nil))
                == "biwsAWF1dGg9QmVhcmVyIHZGOWRmdDRxbVQBAQ==")
    }

    @Test("A credential for Kubernetes is JSON that comes back")
    func kubernetes() throws {
        let token = Self.token
        let document = try text(TokenFormat.kubernetes(token.span, expiry: "2026-11-23T20:00:00Z"))
        let value = try JSONValue(parsing: document)
        #expect(value["apiVersion"]?.string == "client.authentication.k8s.io/v1")
        #expect(value["kind"]?.string == "ExecCredential")
        #expect(value["status"]?["token"]?.string == "vF9dft4qmT\"c\\2/=")
        #expect(value["status"]?["expirationTimestamp"]?.string == "2026-11-23T20:00:00Z")
        let bare = try JSONValue(parsing: text(TokenFormat.kubernetes(token.span)))
        #expect(bare["status"]?.object?.count == 1)
    }
}
