public import CofferBase
import CofferEngine

extension JSONWebToken {
    /// Returns a signed token in its compact form.
    ///
    /// - Parameters:
    ///   - claims: The claims, an object.
    ///   - header: Members of the header beside `alg`, and beside `kid` if the key has a name.
    ///   - key: The private key.
    /// - Returns: The token, in guarded memory, because its owner may use it as a credential.
    /// - Throws: `invalidInput` if the claims are not an object or the header contains `alg` or `kid`.
    public static func signing(
        _ claims: JSONValue, header: [String: JSONValue] = [:], with key: borrowing JSONWebSigningKey
    ) throws(CofferError) -> SecretBytes {
        guard claims.object != nil, header["alg"] == nil, header["kid"] == nil else {
            throw CofferError(.invalidInput, "The claims or the header of the token are not permitted.")
        }
        var members = header
        members["alg"] = .string(key.algorithm.rawValue)
        if let keyID = key.publicKey.keyID { members["kid"] = .string(keyID) }
        let head = try Base64URL.encode(Array(try JSONValue.object(members).jsonText().utf8))
        let body = try Base64URL.encode(Array(try claims.jsonText().utf8))
        let message = Array("\(head).\(body)".utf8)
        var signature = try key.sign(message.span)
        // With the signature, the token is a credential: the two meet in guarded memory only.
        defer { signature.clear() }
        let text = try Encoding.base64URL(signature.span)
        return SecretBytes(try joined(message.span, text.span))
    }

    private static func joined(
        _ message: Span<UInt8>, _ signature: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        var buffer = try GuardedBuffer.make(limit: message.count + 1 + signature.count)
        try buffer.append(message)
        try buffer.append(".")
        try buffer.append(signature)
        return try buffer.finish()
    }
}
