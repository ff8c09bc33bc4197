@testable import CofferOAuth
import CofferBase
import Testing
import TestSupport

@Suite("Verdicts on answers")
struct VerdictTests {
    /// A verdict in a word, with the error code or the seconds to wait.
    private static func word(_ verdict: RefreshVerdict) -> String {
        switch verdict {
        case .success: "success"
        case .revokedCandidate(let error): "revoked \(error.error)"
        case .uncertain(let wait): wait.map { "uncertain \($0.components.seconds)" } ?? "uncertain"
        case .refused(let error): error.map { "refused \($0.error)" } ?? "refused"
        }
    }

    private static func code(_ error: String) -> String { "{\"error\":\"\(error)\"}" }
    private static let good = "{\"access_token\":\"a\",\"refresh_token\":\"r\",\"token_type\":\"Bearer\"}"
    private static let html = "<html><body>Sign in to the network. invalid_grant</body></html>"

    static let refreshes: [(Int, String, String)] = [
        (200, good, "success"), (201, good, "success"), (200, "{\"refresh_token\":\"r\"}", "success"),
        (200, "{\"access_token\":\"a\",\"refresh_token\":\"\"}", "success"),
        (200, "{\"access_token\":\"a\",\"refresh_token\":\"a b\"}", "success"),
        (200, "{\"refresh_token\":\"\"}", "uncertain"),
        (200, "", "uncertain"), (200, html, "uncertain"), (200, "{}", "uncertain"), (204, "", "uncertain"),
        (200, code("bad_refresh_token"), "refused bad_refresh_token"),
        (200, code("invalid_grant"), "revoked invalid_grant"),
        (400, code("invalid_grant"), "revoked invalid_grant"),
        (401, code("invalid_grant"), "revoked invalid_grant"),
        (403, code("invalid_grant"), "revoked invalid_grant"),
        (400, code("INVALID_GRANT"), "refused INVALID_GRANT"),
        (400, code("invalid_grant2"), "refused invalid_grant2"),
        (400, "{\"error\":\"invalid_grant\",\"error\":\"invalid_grant\"}", "refused"),
        (400, "{\"error\":{\"code\":\"invalid_grant\"}}", "refused"),
        (400, "{\"x\":{\"error\":\"invalid_grant\"}}", "refused"), (400, "error=invalid_grant", "refused"),
        (400, "", "refused"), (400, html, "refused"), (401, "", "refused"), (403, "", "refused"),
        (403, html, "refused"), (404, html, "refused"), (302, "", "refused"),
        (302, code("invalid_grant"), "refused"), (400, good, "refused"),
        (400, code("invalid_client"), "refused invalid_client"),
        (401, code("invalid_client"), "refused invalid_client"),
        (400, code("use_dpop_nonce"), "refused use_dpop_nonce"),
        (400, code("temporarily_unavailable"), "uncertain"), (400, code("server_error"), "uncertain"),
        (400, code("slow_down"), "uncertain"), (408, code("invalid_grant"), "uncertain"),
        (425, "", "uncertain"), (429, code("invalid_grant"), "uncertain"), (429, "", "uncertain"),
        (500, code("invalid_grant"), "uncertain"), (502, html, "uncertain"), (503, "", "uncertain"),
        (504, good, "uncertain"), (100, "", "uncertain"), (600, "", "uncertain"), (0, "", "uncertain"),
    ]

    @Test("Refresh: each status with each kind of body", arguments: refreshes)
    func refresh(_ status: Int, _ body: String, _ expected: String) throws {
        let verdict = try RefreshVerdict.judge(answer(status, body))
        #expect(Self.word(verdict) == expected, "\(status) \(body)")
    }

    @Test("An answer whose end the connection does not show is judged by its JSON, and a piece is uncertain")
    func unframed() throws {
        for (status, body, expected) in Self.refreshes {
            let isDocument = body.utf8.first == UInt8(ascii: "{")
            let verdict = try RefreshVerdict.judge(answer(status, body, isComplete: false))
            #expect(Self.word(verdict) == (isDocument ? expected : "uncertain"), "\(status) \(body)")
        }
        for (status, body) in [(200, Self.good), (400, Self.code("invalid_grant"))] {
            for count in 0..<body.utf8.count {
                let piece = String(decoding: body.utf8.prefix(count), as: UTF8.self)
                let verdict = try RefreshVerdict.judge(answer(status, piece, isComplete: false))
                #expect(Self.word(verdict) == "uncertain", "\(piece)")
            }
        }
    }

    @Test("A profile's own codes revoke, too")
    func ownCodes() throws {
        let response = try answer(200, Self.code("bad_refresh_token"))
        let codes = RefreshVerdict.revocationCodes + ["bad_refresh_token"]
        #expect(
            Self.word(try RefreshVerdict.judge(response, revocationCodes: codes))
                == "revoked bad_refresh_token")
    }

    static let waits: [(String, String)] = [
        ("7", "uncertain 7"), ("0", "uncertain 0"), ("3601", "uncertain 3600"),
        ("999999999999999999", "uncertain 3600"), ("9999999999999999999", "uncertain"), ("-1", "uncertain"),
        ("1.5", "uncertain"), ("", "uncertain"), ("Fri, 31 Dec 1999 23:59:59 GMT", "uncertain"),
    ]

    @Test("Retry-After in seconds is kept, up to an hour", arguments: waits)
    func retryAfter(_ value: String, _ expected: String) throws {
        for status in [429, 503] {
            let response = try answer(status, headers: [(name: "retry-after", value: value)])
            #expect(Self.word(try RefreshVerdict.judge(response)) == expected)
        }
        let twice = try answer(
            429, headers: [(name: "retry-after", value: "1"), (name: "retry-after", value: "2")])
        #expect(Self.word(try RefreshVerdict.judge(twice)) == "uncertain")
    }

    static let polls: [(Int, String, String)] = [
        (400, code("authorization_pending"), "pending"), (400, code("slow_down"), "slow down"),
        (429, code("slow_down"), "slow down"), (503, code("slow_down"), "uncertain"),
        (400, code("access_denied"), "denied"), (403, code("access_denied"), "denied"),
        (400, code("expired_token"), "expired"), (400, code("invalid_grant"), "refused"),
        (400, "", "refused"), (400, html, "refused"), (429, "", "uncertain"), (500, "", "uncertain"),
        (200, "{}", "uncertain"), (200, good, "granted"),
    ]

    @Test("Polls of the device grant", arguments: polls)
    func poll(_ status: Int, _ body: String, _ expected: String) throws {
        let word =
            switch try DevicePollVerdict.judge(answer(status, body)) {
            case .granted: "granted"
            case .pending: "pending"
            case .slowDown: "slow down"
            case .denied: "denied"
            case .expired: "expired"
            case .uncertain: "uncertain"
            case .refused: "refused"
            }
        #expect(word == expected, "\(status) \(body)")
    }

    static let revocations: [(Int, String, RevocationAnswer)] = [
        (200, "", .done), (200, html, .done), (204, "", .done), (400, code("invalid_token"), .done),
        (400, code("unsupported_token_type"), .unsupportedTokenType), (400, "", .refused(nil)),
        (400, html, .refused(nil)), (302, "", .refused(nil)), (404, "", .refused(nil)),
        (429, "", .uncertain(retryAfter: nil)), (503, code("invalid_token"), .uncertain(retryAfter: nil)),
        (202, "", .uncertain(retryAfter: nil)),
    ]

    @Test("Revocation: an unknown token counts as done", arguments: revocations)
    func revocation(_ status: Int, _ body: String, _ expected: RevocationAnswer) throws {
        #expect(try RevocationAnswer.judge(answer(status, body)) == expected, "\(status) \(body)")
    }

    @Test("Polls and revocations whose end the connection does not show are judged by their JSON")
    func unframedPolls() throws {
        let pending = try DevicePollVerdict.judge(
            answer(400, Self.code("authorization_pending"), isComplete: false))
        guard case .pending = pending else {
            Issue.record("The poll is not pending.")
            return
        }
        let unsupported = try answer(400, Self.code("unsupported_token_type"), isComplete: false)
        #expect(try RevocationAnswer.judge(unsupported) == .unsupportedTokenType)
        let cut = try answer(400, "{\"error\":\"invalid_token\"", isComplete: false)
        #expect(try RevocationAnswer.judge(cut) == .uncertain(retryAfter: nil))
    }

    @Test("Revocation: invalid_token of another status refers to the client")
    func revocationOfClient() throws {
        guard case .refused(let error?) = try RevocationAnswer.judge(answer(401, Self.code("invalid_token")))
        else {
            Issue.record("A refusal was expected.")
            return
        }
        #expect(error.error == "invalid_token")
    }
}
