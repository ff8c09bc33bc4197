public import CofferBase
import CofferEngine

/// A proof that the sender of a request has the key to which its token is bound (RFC 9449).
public struct DPoPProof: Sendable {
    /// The request's method, such as `POST`.
    public let method: String
    /// The request's URL without query and fragment.
    public let url: String
    /// The time of the proof in seconds since 1970.
    public let issued: Int64
    /// The nonce that the server asked for.
    public let nonce: String?
    /// The hash of the access token that the request carries, by ``accessTokenHash(_:)``.
    public let accessTokenHash: String?

    /// Creates the contents of a proof.
    ///
    /// - Parameters:
    ///   - method: The request's method, in capital letters.
    ///   - url: The request's URL; its query and its fragment are left out.
    ///   - issued: The time in seconds since 1970.
    ///   - nonce: The nonce that the server asked for.
    ///   - accessTokenHash: The hash of the access token that the request carries.
    /// - Throws: `invalidInput` if the method is not in capital letters or the URL is not an https one.
    public init(
        method: String, url: String, issued: Int64, nonce: String? = nil, accessTokenHash: String? = nil
    ) throws(CofferError) {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard !method.isEmpty, method.utf8.allSatisfy({ capitals.contains($0) }) else {
            throw CofferError(.invalidInput, "The method must be in capital letters.")
        }
        guard url.utf8.starts(with: "https://".utf8) else {
            throw CofferError(.invalidInput, "The URL must begin with https.")
        }
        let ends = [UInt8(ascii: "?"), UInt8(ascii: "#")]
        self.method = method
        self.url = String(decoding: url.utf8.prefix { !ends.contains($0) }, as: UTF8.self)
        self.issued = issued
        self.nonce = nonce
        self.accessTokenHash = accessTokenHash
    }

    /// Returns the hash of an access token for the claim `ath`.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public static func accessTokenHash(_ token: borrowing SecretBytes) throws(CofferError) -> String {
        try Base64URL.encode(try Digest.sha256.hash(token.guarded.span))
    }

    /// Returns the signed proof, with a new identifier each time.
    ///
    /// - Parameter key: The private key to which the token is bound.
    /// - Returns: The value of the header `DPoP`.
    /// - Throws: `internalFailure` if the underlying library fails.
    public func signed(with key: borrowing JSONWebSigningKey) throws(CofferError) -> SecretBytes {
        var claims: [String: JSONValue] = [
            "jti": .string(try Base64URL.encode(try SecureRandom.bytes(16))), "htm": .string(method),
            "htu": .string(url), "iat": .integer(issued),
        ]
        if let nonce { claims["nonce"] = .string(nonce) }
        if let accessTokenHash { claims["ath"] = .string(accessTokenHash) }
        let header: [String: JSONValue] = ["typ": "dpop+jwt", "jwk": try key.publicKey.json()]
        return try JSONWebToken.signing(.object(claims), header: header, with: key)
    }
}
