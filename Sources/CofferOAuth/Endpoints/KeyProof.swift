package import CofferBase
package import CofferCrypto

/// The key to which a session's tokens are bound (DPoP, RFC 9449), and the nonces that servers asked for.
package final class KeyProof: Sendable {
    private let key: JSONWebSigningKey
    private let nonces: KeyProofNonces

    private init(_ key: consuming JSONWebSigningKey, _ nonces: KeyProofNonces) {
        self.key = key
        self.nonces = nonces
    }

    /// Returns a new key for ES256.
    ///
    /// - Parameter nonces: The nonces that servers asked for.
    /// - Returns: The key.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package static func generate(
        nonces: KeyProofNonces = KeyProofNonces()
    ) throws(CofferError) -> KeyProof {
        KeyProof(try JSONWebSigningKey.generate(), nonces)
    }

    /// Returns the key that ``copyKey()`` returned earlier.
    ///
    /// - Parameters:
    ///   - secret: The private key.
    ///   - nonces: The nonces that servers asked for.
    /// - Returns: The key.
    /// - Throws: `invalidInput` if the bytes are not a private key.
    package static func restoring(
        _ secret: consuming SecretBytes, nonces: KeyProofNonces = KeyProofNonces()
    ) throws(CofferError) -> KeyProof {
        KeyProof(try JSONWebSigningKey.make(.es256, secret: secret), nonces)
    }

    /// Returns a copy of the private key, to store it.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package func copyKey() throws(CofferError) -> SecretBytes {
        try key.exposing { (bytes) throws(CofferError) -> SecretBytes in try SecretBytes.copying(bytes) }
    }

    /// Returns the public key's thumbprint, to which the server can bind an authorization code.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    package func thumbprint() throws(CofferError) -> String { try key.publicKey.thumbprint() }

    /// Returns the header field with a new proof for one request.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - url: The request's URL.
    ///   - now: The time in seconds since 1970.
    ///   - accessToken: The access token that the request carries; `nil` for none.
    /// - Returns: The field.
    /// - Throws: `internalFailure` if the underlying library fails.
    func field(
        method: HTTPRequest.Method, url: HTTPSURL, now: Int64, accessToken: SecretBox? = nil
    ) throws(CofferError) -> HTTPField {
        var hash: String?
        if let accessToken { hash = try DPoPProof.accessTokenHash(accessToken.bytes) }
        let proof = try DPoPProof(
            method: method.rawValue, url: url.text, issued: now,
            nonce: nonces.nonce(for: url), accessTokenHash: hash)
        return HTTPField(name: "DPoP", value: try proof.signed(with: key))
    }

    /// Keeps the nonce that a response contains, and returns whether the request was refused only because its
    /// proof did not contain that nonce.
    func learn(from response: HTTPResponse, at url: HTTPSURL) throws(CofferError) -> Bool {
        guard nonces.learn(from: response, at: url) else { return false }
        return try Self.demandsNonce(response)
    }

    /// Authorization servers say it in JSON, resource servers in a challenge (RFC 9449 sections 8 and 9).
    private static func demandsNonce(_ response: HTTPResponse) throws(CofferError) -> Bool {
        guard response.status == 400 || response.status == 401 else { return false }
        let code = "use_dpop_nonce"
        let error = try response.json().flatMap { TokenErrorResponse($0) }
        return error?.isOne(of: [code]) == true
            || HTTPChallenge.error(in: response)?.hasSameBytes(as: code) == true
    }
}
