@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// Answers of OAuth servers.
extension FuzzTarget {
    static let answers = [
        FuzzTarget("guarded-json") { bytes, _ in try readGuarded(bytes) },
        FuzzTarget("token-response") { bytes, _ in try readTokens(bytes) },
        FuzzTarget("identity") { bytes, _ in try readIdentity(bytes) },
    ]

    /// The reader of secrets accepts nothing that the other reader refuses, and strings are the same in both.
    private static func readGuarded(_ bytes: [UInt8]) throws {
        let object = try GuardedJSON(copying: bytes.span).root
        // A number beyond Double, and names that are canonically the same, are refused by the other reader.
        guard let plain = try? JSONValue(parsing: bytes) else { return }
        for name in object.names {
            guard let text = plain[name]?.string else { continue }
            let secret = try object.secret(name, limit: GuardedJSON.maxByteCount)
            let decoded = secret.map { $0.copyBytes() }
            try FuzzFinding.require(decoded == Array(text.utf8), "a string is decoded as another")
        }
    }

    /// A token has the characters of one, a life its limits, and no piece of an answer is a verdict.
    private static func readTokens(_ bytes: [UInt8]) throws {
        for status in [200, 400, 429] {
            let answer = HTTPResponse(
                status: status, headers: [], body: try SecretBytes.copying(bytes.span), isComplete: false)
            switch try RefreshVerdict.judge(answer) {
            case .success: try FuzzFinding.require(status == 200, "a refusal is a success")
            case .uncertain: continue
            case .revokedCandidate, .refused:
                let last = bytes.lastIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "]") } ?? 0
                let piece = HTTPResponse(
                    status: status, headers: [], body: try SecretBytes.copying(Array(bytes[..<last]).span),
                    isComplete: false)
                guard case .uncertain = try RefreshVerdict.judge(piece) else {
                    throw FuzzFinding("a piece of an answer is a verdict")
                }
            }
        }
        if let error = TokenErrorResponse(body: bytes.span) {
            try FuzzFinding.require(
                (error.errorDescription ?? error.error).utf8.allSatisfy { (0x20...0x7E).contains($0) },
                "an error has characters that cannot be printed")
        }
        let tokens = try TokenResponse(body: bytes.span)
        for token in [tokens.accessToken, tokens.refreshToken, tokens.idToken] {
            guard let token else { continue }
            let isToken = token.copyBytes().allSatisfy { (0x21...0x7E).contains($0) }
            try FuzzFinding.require(isToken && token.count > 0, "a token has other characters")
        }
        try FuzzFinding.require(
            (0...TokenResponse.maxLifetime).contains(tokens.lifetime ?? 0), "a life is beyond its limits")
    }

    /// A URL that comes from a document is one of https, and a refusal has its own status.
    private static func readIdentity(_ bytes: [UInt8]) throws {
        let answer = HTTPResponse(status: 404, headers: [], body: try SecretBytes.copying(bytes.span))
        if let refusal = IdentityRefusal(answer) {
            try FuzzFinding.require(refusal.status == 404, "a refusal has another status")
        }
        let identity = try IdentityResponse(body: bytes.span)
        for name in identity.urls.keys {
            let url = (try? identity.url(name, version: "59.0")) ?? nil
            try FuzzFinding.require(
                url?.text.utf8.starts(with: "https://".utf8) ?? true, "a URL is not one of https")
        }
    }
}
