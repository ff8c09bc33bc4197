@testable import CofferOAuth
import Coffer
import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("Answers with tokens")
struct TokenResponseTests {
    @Test(
        "An answer without a usable token is refused",
        arguments: [
            "", "{}", "<html></html>", "{\"token_type\":\"Bearer\"}", "{\"access_token\":\"\"}",
            "{\"access_token\":1}", "{\"access_token\":\"a b\"}", "{\"access_token\":\"a\\n\"}",
            "{\"access_token\":\"a\\u0000\"}", "{\"access_token\":\"\u{E9}\"}",
            "{\"refresh_token\":\"\"}", "{\"refresh_token\":[]}", "{\"refresh_token\":\"r\\r\"}",
            "{\"access_token\":\"a b\",\"refresh_token\":\"r\\r\"}",
            "{\"access_token\":\"a\",\"refresh_token\":\"r\",\"refresh_token\":\"s\"}",
        ])
    func refuses(_ body: String) {
        #expect(failure { _ = try tokens(body) } == .serverMalformed)
    }

    @Test(
        "A wrong member suspends the access token; the refresh token remains",
        arguments: [
            "", ",\"access_token\":\"a b\"", ",\"access_token\":\"a\"",
            ",\"access_token\":\"a\",\"token_type\":\"mac\"", ",\"access_token\":\"a\",\"token_type\":1",
            ",\"access_token\":\"a\",\"token_type\":\"\\u212Aearer\"",
            ",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"id_token\":\"\\n\"",
            ",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"scope\":[\"api\"]",
            ",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"scope\":\"a \\\"b\"",
            ",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"instance_url\":7",
            ",\"access_token\":\"a\",\"token_type\":\"Bearer\",\"error\":\"invalid_grant\"",
        ])
    func suspends(_ rest: String) throws {
        let answer = try tokens("{\"refresh_token\":\"r\"" + rest + "}")
        #expect(text(answer.refreshToken) == "r")
        #expect(answer.defect != nil)
        #expect(failure { _ = try answer.usableAccessToken() } == .serverMalformed)
    }

    @Test("More scopes than can be stored with a token suspend the access token")
    func manyScopes() throws {
        for (count, isUsable) in [(1024, true), (1025, false)] {
            let scopes = (1...count).map(String.init).joined(separator: " ")
            let answer = try tokens(
                "{\"refresh_token\":\"r\",\"access_token\":\"a\",\"token_type\":\"Bearer\","
                    + "\"scope\":\"\(scopes)\"}")
            #expect(text(answer.refreshToken) == "r")
            #expect((answer.defect == nil) == isUsable, "\(count)")
        }
    }

    @Test("An empty refresh token counts as none")
    func emptyRefreshToken() throws {
        let answer = try tokens(
            "{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"refresh_token\":\"\"}")
        #expect(answer.refreshToken == nil && answer.defect == nil && !answer.hasInvalidRefreshToken)
        #expect(try text(answer.usableAccessToken()) == "a")
    }

    @Test(
        "An invalid refresh token beside an access token is a defect",
        arguments: ["[]", "7", "\"r\\r\"", "\"a b\"", "\"\\u0000\""])
    func invalidRefreshToken(_ written: String) throws {
        let answer = try tokens(
            "{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"refresh_token\":\(written)}")
        #expect(answer.refreshToken == nil && answer.hasInvalidRefreshToken)
        #expect(answer.defect?.contains("refresh_token") == true)
        #expect(failure { _ = try answer.usableAccessToken() } == .serverMalformed)
    }

    @Test("Tokens have at most 64 KiB")
    func sizes() throws {
        let most = String(repeating: "t", count: 65_536)
        let answer = try tokens("{\"access_token\":\"\(most)\",\"token_type\":\"bearer\"}")
        #expect(try answer.usableAccessToken().count == 65_536)
        #expect(failure { _ = try tokens("{\"access_token\":\"\(most)t\"}") } == .serverMalformed)
    }

    @Test("Every member is read")
    func all() throws {
        let answer = try tokens(
            """
            {"access_token":"00D!AQ\\/~","refresh_token":"5Aep","id_token":"e.y.J","token_type":"bEARER",
            "expires_in":7200,"scope":"api  id api","instance_url":"https://na1.salesforce.com",
            "id":"https://login.salesforce.com/id/00D/005","issued_at":"1278448384422","signature":"CMJ4l+=",
            "issued_token_type":"urn:x","unknown":{"a":[null]}}
            """)
        #expect(try text(answer.usableAccessToken()) == "00D!AQ/~")
        #expect(text(answer.refreshToken) == "5Aep")
        #expect(text(answer.idToken) == "e.y.J")
        #expect(answer.tokenType == .bearer && answer.defect == nil && answer.lifetime == 7200)
        #expect(answer.scopes == ["api", "id"])
        #expect(answer.instanceURL == "https://na1.salesforce.com")
        #expect(answer.identityURL == "https://login.salesforce.com/id/00D/005")
        #expect(answer.issuedAt == 1_278_448_384_422)
        #expect(text(answer.signature) == "CMJ4l+=")
        #expect(answer.issuedTokenType == "urn:x")
        #expect(try tokens("{\"access_token\":\"a\",\"token_type\":\"DPoP\"}").tokenType == .dpop)
    }

    static let lives: [(String, Int?)] = [
        ("3600", 3600), ("0", 0), ("-1", 0), ("-9e99", 0), ("-0", 0), ("3600.9", 3600), ("3.6e3", 3600),
        ("0.9", 0), ("1e-400", 0), ("1e9999", 315_360_000), ("99999999999999999999", 315_360_000),
        ("315360001", 315_360_000), ("\"3600\"", 3600), ("\"99999999999999999999\"", 315_360_000),
        ("\"\"", nil), ("\"-1\"", nil), ("\"1 hour\"", nil), ("\"3600.5\"", nil), ("\" 1\"", nil),
        ("null", nil), ("true", nil), ("[]", nil), ("{}", nil),
    ]

    @Test("Every expires_in has a result, and none refuses an answer", arguments: lives)
    func lifetimes(_ written: String, _ expected: Int?) throws {
        let answer = try tokens(
            "{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":\(written)}")
        #expect(answer.lifetime == expected)
        #expect(answer.defect == nil)
    }

    @Test("An answer without expires_in gives no life")
    func noLife() throws {
        #expect(try tokens("{\"access_token\":\"a\",\"token_type\":\"Bearer\"}").lifetime == nil)
    }

    @Test("What is not an error of RFC 6749 is not a verdict")
    func errors() {
        func error(_ body: String) -> TokenErrorResponse? { TokenErrorResponse(body: Array(body.utf8).span) }
        let others = [
            "", "<html>invalid_grant</html>", "invalid_grant", "[]", "{}", "{\"error\":null}",
            "{\"error\":\"\"}",
            "{\"error\":{\"code\":\"invalid_grant\"}}", "{\"error\":\"a b\"}", "{\"error\":\"a\\u001b[0m\"}",
            "{\"error\":\"a\",\"error\":\"b\"}", "{\"error\":\"\(String(repeating: "e", count: 65))\"}",
        ]
        for body in others { #expect(error(body) == nil, "\(body)") }
        let long = String(repeating: "\\u001b[31m\u{202E}x", count: 50)
        let refusal = error(
            "{\"error\":\"invalid_grant\",\"error_description\":\"\(long)\","
                + "\"error_uri\":\"https://e.example\"}"
        )
        #expect(refusal?.error == "invalid_grant")
        #expect(refusal?.errorDescription?.utf8.count == 64)
        #expect(refusal?.errorDescription?.utf8.allSatisfy { (0x20...0x7E).contains($0) } == true)
        #expect(error("{\"error\":\"x\",\"error_description\":5}")?.errorDescription == nil)
        #expect(error("{\"error\":\"x\",\"error_description\":\"\\n\"}")?.errorDescription == nil)
    }
}
