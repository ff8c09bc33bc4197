import CofferBase
import CofferCrypto

/// A server's error in JSON (RFC 6749 section 5.2). `error_uri` is ignored: a link from an error would lead
/// people to a page that the server's attacker may choose.
public struct TokenErrorResponse: Sendable, Hashable {
    /// The error code, such as `invalid_grant`: at most 64 bytes.
    public let error: String
    /// The first 64 printable ASCII characters of the server's description; `nil` if there are none.
    public let errorDescription: String?

    /// Creates the error that an object contains. The result is `nil` if the object has no `error` of the
    /// characters that RFC 6749 allows, so that it is not a verdict.
    init?(_ json: GuardedJSON) {
        guard let error = try? json.root.text("error", limit: 64), Self.isCode(error) else { return nil }
        self.error = error
        let description = (try? json.root.text("error_description")).map(WireText.printable)
        errorDescription = description.flatMap { $0.utf8.isEmpty ? nil : $0 }
    }

    /// Reads the error in a body. The result is `nil` if the body is not a JSON object with a valid `error`,
    /// such as an empty body or a page of HTML: it is not a verdict on the request.
    ///
    /// - Parameter body: The body of an answer.
    public init?(body: Span<UInt8>) {
        guard let json = try? GuardedJSON(copying: body), let error = TokenErrorResponse(json) else {
            return nil
        }
        self = error
    }

    private init(code: String) {
        error = code
        errorDescription = nil
    }

    /// The number of bytes that show that a description repeats a secret, of which it may contain only the
    /// beginning. A shorter secret is none.
    private static let telltaleCount = 8

    /// Returns the error without its description if that repeats a secret of the request: some servers write
    /// the token or code that they refuse there, and the text reaches terminals and logs.
    func hiding(_ secret: SecretBox) -> TokenErrorResponse {
        guard let errorDescription else { return self }
        let text = Array(errorDescription.utf8)
        let isRepeated = secret.bytes.exposing { (bytes) -> Bool in
            let count = Self.telltaleCount
            guard bytes.count >= count, text.count >= count else { return false }
            return (0...text.count - count).contains { start in
                (0..<count).allSatisfy { text[start + $0] == bytes[$0] }
            }
        }
        return isRepeated ? TokenErrorResponse(code: error) : self
    }

    /// Whether the characters are those that RFC 6749 allows in a code, without the space.
    private static func isCode(_ text: String) -> Bool {
        WireText.isVisible(text) && !text.utf8.contains { $0 == 0x22 || $0 == 0x5C }
    }

    /// Whether the code is one of `codes`, byte for byte.
    func isOne(of codes: some Sequence<String>) -> Bool { codes.contains { $0.hasSameBytes(as: error) } }

    /// A sentence for the user.
    var message: String {
        errorDescription.map { "The server refused the request: \(error) (\($0))." }
            ?? "The server refused the request: \(error)."
    }
}
