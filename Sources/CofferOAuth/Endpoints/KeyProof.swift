package import CofferBase
package import CofferCrypto
import Synchronization

/// The key to which a session's tokens are bound (DPoP, RFC 9449), and the nonces that servers asked for.
package final class KeyProof: Sendable {
    private static let maxNonceByteCount = 1024

    private let key: JSONWebSigningKey
    /// The latest nonce of each origin.
    private let nonces = Mutex<[String: String]>([:])

    private init(_ key: consuming JSONWebSigningKey) { self.key = key }

    /// Returns a new key for ES256.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package static func generate() throws(CofferError) -> KeyProof {
        KeyProof(try JSONWebSigningKey.generate())
    }

    /// Returns the key that ``copyKey()`` returned earlier.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key.
    package static func restoring(_ secret: consuming SecretBytes) throws(CofferError) -> KeyProof {
        KeyProof(try JSONWebSigningKey.make(.es256, secret: secret))
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
            nonce: nonces.withLock { $0[url.origin] }, accessTokenHash: hash)
        return HTTPField(name: "DPoP", value: try proof.signed(with: key))
    }

    /// Keeps the nonce that a response contains, and returns whether the request was refused only because its
    /// proof did not contain that nonce.
    func learn(from response: HTTPResponse, at url: HTTPSURL) throws(CofferError) -> Bool {
        // Several nonces are a defect of the server's that must not cost the response itself.
        let fields = response.headers.filter { $0.name.hasSameBytes(as: "dpop-nonce") }
        guard fields.count == 1, let nonce = fields.first?.value, WireText.isVisible(nonce),
            nonce.utf8.count <= Self.maxNonceByteCount
        else { return false }
        nonces.withLock { $0[url.origin] = nonce }
        return try Self.demandsNonce(response)
    }

    /// Authorization servers say it in JSON, resource servers in a challenge (RFC 9449 sections 8 and 9).
    private static func demandsNonce(_ response: HTTPResponse) throws(CofferError) -> Bool {
        guard response.status == 400 || response.status == 401 else { return false }
        let code = "use_dpop_nonce"
        let error = try response.json().flatMap { TokenErrorResponse($0) }
        if error?.isOne(of: [code]) == true { return true }
        let mark = Array("error=\"\(code)\"".utf8)
        return response.headers.contains { field in
            guard field.name.hasSameBytes(as: "www-authenticate") else { return false }
            let bytes = Array(field.value.utf8)
            return bytes.indices.contains { bytes[$0...].starts(with: mark) }
        }
    }
}
