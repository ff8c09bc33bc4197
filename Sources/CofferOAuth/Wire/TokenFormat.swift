public import CofferBase
public import CofferCrypto
import CofferEngine

/// The forms in which other programs take an access token. Every function copies the token into guarded
/// memory only, and depends on its arguments only.
public enum TokenFormat {
    /// Returns the value of an `Authorization` header: `Bearer` or `DPoP`, a space and the token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - type: The type of the token.
    /// - Returns: The value.
    /// - Throws: `refused` if the token is not 1 to 65 536 visible ASCII characters.
    public static func authorization(
        _ token: Span<UInt8>, type: TokenResponse.TokenType = .bearer
    ) throws(CofferError) -> SecretBytes {
        try joined(type == .bearer ? "Bearer " : "DPoP ", token, "")
    }

    /// Returns a whole header line without its line end: `Authorization: Bearer` and the token.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - type: The type of the token.
    /// - Returns: The line.
    /// - Throws: `refused` if the token is not 1 to 65 536 visible ASCII characters.
    public static func header(
        _ token: Span<UInt8>, type: TokenResponse.TokenType = .bearer
    ) throws(CofferError) -> SecretBytes {
        try joined(type == .bearer ? "Authorization: Bearer " : "Authorization: DPoP ", token, "")
    }

    /// Returns the initial response of the SASL mechanism XOAUTH2, in Base64.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - user: The user's name, such as an e-mail address.
    /// - Returns: The response.
    /// - Throws: `refused` if the token is not 1 to 65 536 visible ASCII characters; `invalidInput` if the
    ///   name is empty or contains a control character, which would end its field.
    public static func xoauth2(_ token: Span<UInt8>, user: String) throws(CofferError) -> SecretBytes {
        try requireField(user)
        let text = try joined("user=\(user)\u{1}auth=Bearer ", token, "\u{1}\u{1}")
        return SecretBytes(try Encoding.base64(text.guarded.span))
    }

    /// Returns the initial client response of the SASL mechanism OAUTHBEARER (RFC 7628), in Base64.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - user: The authorization identity; `nil` to take that of the token.
    ///   - host: The name of the server; `nil` to leave it out.
    ///   - port: The port of the server; `nil` to leave it out.
    /// - Returns: The response.
    /// - Throws: `refused` if the token is not 1 to 65 536 visible ASCII characters; `invalidInput` if a name
    ///   is empty or contains a control character.
    public static func oauthbearer(
        _ token: Span<UInt8>, user: String?, host: String? = nil, port: UInt16? = nil
    ) throws(CofferError) -> SecretBytes {
        var head = "n,"
        if let user {
            try requireField(user)
            head += "a=" + saslName(user)
        }
        head += ",\u{1}"
        if let host {
            try requireField(host)
            head += "host=\(host)\u{1}"
        }
        if let port { head += "port=\(port)\u{1}" }
        let text = try joined(head + "auth=Bearer ", token, "\u{1}\u{1}")
        return SecretBytes(try Encoding.base64(text.guarded.span))
    }

    /// Returns an `ExecCredential` document for the credential plug-ins of Kubernetes, on one line.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - expiry: The end of the token's life as a time of RFC 3339, such as `2026-11-23T20:00:00Z`; `nil`
    ///     if it is unknown, in which case the program keeps the token until a server refuses it.
    /// - Returns: The document.
    /// - Throws: `refused` if the token is not 1 to 65 536 visible ASCII characters; `invalidInput` if
    ///   `expiry` contains a character that such a time does not have.
    public static func kubernetes(
        _ token: Span<UInt8>, expiry: String? = nil
    ) throws(CofferError) -> SecretBytes {
        var status = "\"status\":{"
        if let expiry {
            guard !expiry.utf8.isEmpty, expiry.utf8.allSatisfy({ "0123456789-:.+TZ".utf8.contains($0) })
            else {
                throw CofferError(.invalidInput, "The end of the token's life is not a time of RFC 3339.")
            }
            status += "\"expirationTimestamp\":\"\(expiry)\","
        }
        let head =
            "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
            + status + "\"token\":\""
        return try joined(head, token, "\"}}\n", isJSON: true)
    }

    // MARK: Pieces

    private static func joined(
        _ head: String, _ token: Span<UInt8>, _ tail: String, isJSON: Bool = false
    ) throws(CofferError) -> SecretBytes {
        guard WireText.isToken(token) else {
            throw CofferError(
                .refused, "The token is empty, too long or contains a character that no header can carry.")
        }
        var text = try GuardedBuffer.make(limit: 2 * WireText.maxTokenByteCount + 4096)
        try text.append(head)
        var start = 0
        for index in token.indices {
            // Of the visible ASCII characters, JSON escapes only these two.
            guard isJSON, token[index] == 0x22 || token[index] == 0x5C else { continue }
            try text.append(token.extracting(start..<index))
            try text.append("\\")
            start = index
        }
        try text.append(token.extracting(start..<token.count))
        try text.append(tail)
        return SecretBytes(try text.finish())
    }

    private static func requireField(_ text: String) throws(CofferError) {
        guard (1...1024).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw CofferError(
                .invalidInput, "A user's or server's name must be 1 to 1024 bytes without control characters."
            )
        }
    }

    /// Escapes the two characters that end a name in a GS2 header (RFC 5801 section 4).
    private static func saslName(_ text: String) -> String {
        String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: ","): Array("=2C".utf8)
                case UInt8(ascii: "="): Array("=3D".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }
}
