@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// A response with this body.
func answer(
    _ status: Int, _ body: String = "", headers: [(name: String, value: String)] = [], isComplete: Bool = true
) throws -> HTTPResponse {
    HTTPResponse(
        status: status, headers: headers, body: try SecretBytes.copying(body), isComplete: isComplete)
}

/// The text of a token or another secret in a test.
func text(_ token: Token?) -> String? {
    token.map { token in String(decoding: token.exposing { $0.copied() }, as: UTF8.self) }
}

/// The text of secret bytes in a test.
func text(_ secret: borrowing SecretBytes) -> String {
    String(decoding: secret.exposing { $0.copied() }, as: UTF8.self)
}

/// The index of a document.
func json(_ text: String) throws -> GuardedJSON { try GuardedJSON(copying: Array(text.utf8).span) }

/// The tokens in a body.
func tokens(_ body: String) throws -> TokenResponse { try TokenResponse(body: Array(body.utf8).span) }
