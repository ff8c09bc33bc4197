public import CofferBase

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
        let signature = try Base64URL.encode(try key.sign(message.span))
        return try SecretBytes.copying(Array("\(head).\(body).\(signature)".utf8).span)
    }
}
