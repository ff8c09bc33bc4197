public import CofferBase
import CofferEngine

/// A client's proof of its identity by a signature instead of a shared secret (`private_key_jwt`, RFC 7523).
public enum ClientAssertion {
    /// The number of seconds for which an assertion is valid.
    public static let life: Int64 = 60
    /// The value of the parameter `client_assertion_type`.
    public static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// Returns a signed assertion, with a new identifier each time.
    ///
    /// - Parameters:
    ///   - clientID: The client's id, which is issuer and subject.
    ///   - audience: The authorization server's issuer, or the URL of an endpoint where it requires that.
    ///   - issued: The time in seconds since 1970.
    ///   - key: The client's private key. If it has a name, the header contains it.
    /// - Returns: The value of the parameter `client_assertion`.
    /// - Throws: `invalidInput` if the time is out of range.
    public static func signed(
        clientID: String, audience: String, issued: Int64, with key: borrowing JSONWebSigningKey
    ) throws(CofferError) -> SecretBytes {
        guard 0...Int64(1 << 50) ~= issued else {
            throw CofferError(.invalidInput, "The time of the assertion is out of range.")
        }
        let claims: JSONValue = [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
            "jti": .string(try Base64URL.encode(try SecureRandom.bytes(16))), "iat": .integer(issued),
            "exp": .integer(issued + life),
        ]
        return try JSONWebToken.signing(claims, header: ["typ": "JWT"], with: key)
    }
}
