public import Coffer
public import CofferBase

/// A token endpoint's answer with tokens (RFC 6749 section 5.1).
///
/// A refresh token that was sent is spent, so an answer whose other members are wrong must not cost its
/// successor. Therefore ``refreshToken`` is available whenever the server sent a valid one; ``defect`` says
/// why the access token must not be used.
public struct TokenResponse: Sendable {
    /// The type of an access token.
    public enum TokenType: Sendable, Hashable {
        /// A bearer token (RFC 6750).
        case bearer
        /// A token that is bound to a key (RFC 9449).
        case dpop
    }

    /// The access token; `nil` if the answer contains none that can be used.
    public let accessToken: Token?
    /// The refresh token; `nil` if the server sent none, so that the previous one remains valid, or an
    /// invalid one, which is a ``defect``.
    public let refreshToken: Token?
    /// The id token, not verified; `nil` if the answer contains none.
    public let idToken: Token?
    /// The type of the access token; `nil` if it is missing or unknown, which is a ``defect``.
    public let tokenType: TokenType?
    /// The life of the access token in whole seconds; `nil` if the server gave none that can be understood.
    public let lifetime: Int?
    /// The granted scopes; `nil` if they are those that were asked for.
    public let scopes: [String]?
    /// The server that the access token is for, as the server wrote it; `nil` if there is none.
    public let instanceURL: String?
    /// The identity URL of the user, as the server wrote it; `nil` if there is none.
    public let identityURL: String?
    /// The time of issue in milliseconds since 1970; `nil` if there is none.
    public let issuedAt: Int64?
    /// The server's signature over ``identityURL`` and the time of issue, in Base64; `nil` if there is none.
    public let signature: Token?
    /// The type of a token from an exchange (RFC 8693), as a URI; `nil` if there is none.
    public let issuedTokenType: String?
    /// The reason why the access token must not be used, as a sentence; `nil` if it can be used.
    public let defect: String?
    /// Whether the server sent a refresh token that cannot be one. It may have spent the previous one.
    let hasInvalidRefreshToken: Bool

    /// The longest life that an answer can give an access token: ten years, in seconds.
    public static let maxLifetime = 315_360_000

    /// Reads an answer.
    ///
    /// - Parameter body: The body, which must be a complete JSON object.
    /// - Throws: `serverMalformed` if it is not a JSON object under the rules of RFC 8259, has duplicate
    ///   names, or contains neither an access nor a refresh token of 1 to 65 536 visible ASCII characters.
    public init(body: Span<UInt8>) throws(CofferError) {
        try self.init(GuardedJSON(copying: body))
    }

    init(_ json: GuardedJSON) throws(CofferError) {
        let object = json.root
        var defects = Defects()
        refreshToken = try defects.noting { () throws(CofferError) in try Self.refreshToken(in: object) }
        hasInvalidRefreshToken = defects.first != nil
        let access = try defects.noting { () throws(CofferError) in
            try Self.token("access_token", in: object)
        }
        idToken = try defects.noting { () throws(CofferError) in try Self.token("id_token", in: object) }
        tokenType = try defects.noting { () throws(CofferError) in try Self.tokenType(in: object) }
        scopes = try defects.noting { () throws(CofferError) in
            try object.text("scope").map { (text) throws(CofferError) in try WireText.scopes(text) }
        }
        instanceURL = try defects.noting { () throws(CofferError) in try object.text("instance_url") }
        identityURL = try defects.noting { () throws(CofferError) in try object.text("id") }
        signature = try defects.noting { () throws(CofferError) in
            try object.secret("signature", limit: 1024)
        }
        issuedTokenType = try defects.noting { () throws(CofferError) in
            try object.text("issued_token_type", limit: 256)
        }
        lifetime = Self.lifetime(in: object)
        issuedAt = Self.milliseconds(in: object)
        if access == nil { defects.add("The answer contains no access token.") }
        if object.has("error") { defects.add("The answer contains tokens and an error.") }
        guard access != nil || refreshToken != nil else {
            throw CofferError(.serverMalformed, defects.first ?? "The answer contains no token.")
        }
        defect = defects.first
        accessToken = access
    }

    /// Returns the access token if it can be used.
    ///
    /// - Throws: `serverMalformed` with ``defect`` if it must not be used.
    public func usableAccessToken() throws(CofferError) -> Token {
        guard defect == nil, let accessToken else {
            throw CofferError(.serverMalformed, defect ?? "The answer contains no access token.")
        }
        return accessToken
    }
}

extension TokenResponse {
    /// What is wrong with the members beside the refresh token.
    private struct Defects {
        private(set) var first: String?

        mutating func add(_ defect: String) { first = first ?? defect }

        /// Returns the member that `read` returns; notes the error and returns `nil` if the member is wrong.
        mutating func noting<Member>(
            _ read: () throws(CofferError) -> Member?
        ) throws(CofferError) -> Member? {
            do throws(CofferError) {
                return try read()
            } catch {
                guard error.code == .serverMalformed else { throw error }
                add(error.message)
                return nil
            }
        }
    }

    /// The refresh token. Some servers write an empty one if the previous one remains valid.
    private static func refreshToken(in object: GuardedJSON.Object) throws(CofferError) -> Token? {
        guard !object.isEmptyText("refresh_token") else { return nil }
        return try token("refresh_token", in: object)
    }

    private static func token(
        _ name: String, in object: GuardedJSON.Object
    ) throws(CofferError) -> Token? {
        guard let token = try object.secret(name, limit: WireText.maxTokenByteCount) else { return nil }
        guard token.exposing({ WireText.isToken($0) }) else {
            throw CofferError(
                .serverMalformed,
                "The \(name) in the server's answer is empty or contains a character that no token has.")
        }
        return token
    }

    /// The type, compared without regard to ASCII case (RFC 6749 section 5.1). An unknown type is refused,
    /// because a client that does not understand it must not use the token (section 7.1).
    private static func tokenType(in object: GuardedJSON.Object) throws(CofferError) -> TokenType? {
        guard let text = try object.text("token_type", limit: 64)?.foldedASCII else {
            throw CofferError(.serverMalformed, "The server's answer does not name the type of its token.")
        }
        if text.hasSameBytes(as: "bearer") { return .bearer }
        if text.hasSameBytes(as: "dpop") { return .dpop }
        throw CofferError(.serverMalformed, "The server's answer names an unknown type of token.")
    }

    /// The life in seconds. No value of it refuses an answer, because the answer may contain the successor of
    /// a spent refresh token, and a wrong life costs one more renewal at most:
    ///
    /// - absent, `null`, text other than digits, or another type: unknown, so the profile's life applies;
    /// - digits in quotation marks: the number, because some servers write it so;
    /// - negative: 0, the token has expired and is renewed before its first use;
    /// - a fraction or an exponent: rounded down, never longer than the server says;
    /// - above ten years: ten years, so that adding it to a time cannot overflow.
    private static func lifetime(in object: GuardedJSON.Object) -> Int? {
        if let number = object.number("expires_in") {
            // Every number of JSON's grammar is one of Double's; one that is too large becomes infinite.
            guard let seconds = Double(number), !seconds.isNaN else { return nil }
            return Int(min(max(seconds, 0), Double(maxLifetime)).rounded(.down))
        }
        guard let text = try? object.text("expires_in", limit: 64), !text.utf8.isEmpty,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return min(Int(text) ?? maxLifetime, maxLifetime)
    }

    /// The time of issue, which Salesforce writes as digits in quotation marks. It is information only.
    private static func milliseconds(in object: GuardedJSON.Object) -> Int64? {
        if let number = object.number("issued_at") { return WireText.number(number.utf8) }
        return (try? object.text("issued_at", limit: 32)).flatMap { WireText.number($0.utf8) }
    }
}
