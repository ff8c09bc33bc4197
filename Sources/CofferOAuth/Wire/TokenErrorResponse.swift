import CofferBase

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
