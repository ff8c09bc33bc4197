import Coffer
package import CofferBase
import CofferCrypto
import CofferEngine

/// A client's ID at its server, and the secret that proves it.
package struct ClientIdentity: Sendable {
    /// A private key for assertions.
    private final class AssertionKey: Sendable {
        let key: JSONWebSigningKey

        init(_ key: consuming JSONWebSigningKey) { self.key = key }
    }

    private enum Proof: Sendable {
        /// Only the ID, or a certificate that the connection shows.
        case name
        case basic(SecretBox)
        case post(SecretBox)
        case assertion(AssertionKey, audience: String)
    }

    private let clientID: String
    private let proof: Proof

    /// Returns the identity of a profile's client, with its secret from the vault.
    ///
    /// - Parameters:
    ///   - profile: The profile.
    ///   - profiles: The profiles of the vault.
    ///   - endpoint: The endpoint that receives the request; `nil` if nothing is to be sent.
    /// - Returns: The identity.
    /// - Throws: `absent` if the secret that the profile requires is not stored; `invalidInput` if the stored
    ///   key is not a private key for a supported algorithm; `locked`, `wiped` or `corrupt`.
    package static func load(
        for profile: OAuthProfile, from profiles: ProfileStore, at endpoint: HTTPSURL? = nil
    ) async throws(CofferError) -> ClientIdentity {
        let proof: Proof
        switch profile.authentication {
        case .none, .mutualTLS: proof = .name
        case .basic: proof = .basic(try await secret(.secret, of: profile, profiles))
        case .post: proof = .post(try await secret(.secret, of: profile, profiles))
        case .privateKeyJWT(let audience):
            let file = try await secret(.key, of: profile, profiles)
            proof = .assertion(
                try key(in: file.bytes, keyID: profile.assertionKeyID),
                audience: Self.audience(audience, profile, endpoint))
        }
        return ClientIdentity(clientID: profile.clientID, proof: proof)
    }

    private static func audience(
        _ rule: ClientAuthentication.AssertionAudience, _ profile: OAuthProfile, _ endpoint: HTTPSURL?
    ) -> String {
        let url: HTTPSURL? =
            switch rule {
            case .issuer: profile.issuer
            case .tokenEndpoint: profile.endpoints?.urls[.token]
            case .receivingEndpoint: endpoint
            }
        return (url ?? profile.issuer).text
    }

    private static func secret(
        _ secret: ClientSecret, of profile: OAuthProfile, _ profiles: ProfileStore
    ) async throws(CofferError) -> SecretBox {
        guard let token = try await profiles.secret(secret, of: profile.name) else {
            let name = secret == .key ? "private key" : "client secret"
            throw CofferError(
                .absent, "The profile \(profile.name) requires a \(name), but none is stored.",
                remedy: secret == .key ? .storeClientKey : .storeClientSecret)
        }
        return try SecretBox(copying: token)
    }

    private static func key(
        in file: borrowing SecretBytes, keyID: String?
    ) throws(CofferError) -> AssertionKey {
        let algorithms: [JSONWebToken.Algorithm] = [.es256, .rs256, .edDSA]
        for algorithm in algorithms {
            do throws(CofferError) {
                return AssertionKey(
                    try JSONWebSigningKey.importing(file, algorithm: algorithm, keyID: keyID))
            } catch {
                guard error.code == .invalidInput else { throw error }
            }
        }
        throw CofferError(
            .invalidInput,
            "The client's private key must be a P-256, RSA or Ed25519 key in a PKCS #8 file without a "
                + "passphrase; RSA requires 2048 to 8192 bits.", remedy: .convertKey)
    }

    /// Adds what proves the client's identity to a request.
    ///
    /// - Parameters:
    ///   - body: The form to which fields are added.
    ///   - namesClient: Whether the client's ID is added, where it is not part of the request already.
    ///   - now: The time in seconds since 1970.
    /// - Returns: The header fields to add.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    func authenticate(
        _ body: inout FormBody, namesClient: Bool, now: Int64
    ) throws(CofferError) -> [HTTPField] {
        if case .basic(let secret) = proof {
            return [HTTPField(name: "Authorization", value: try basic(secret.bytes))]
        }
        if namesClient { try body.append("client_id", clientID) }
        switch proof {
        case .name, .basic: break
        case .post(let secret): try body.append("client_secret", secret: secret.bytes)
        case .assertion(let key, let audience):
            let assertion = try ClientAssertion.signed(
                clientID: clientID, audience: audience, issued: now, with: key.key)
            try body.append("client_assertion_type", ClientAssertion.type)
            try body.append("client_assertion", secret: assertion)
        }
        return []
    }

    /// The credentials are in form encoding before they are in Base64 (RFC 6749 section 2.3.1).
    private func basic(_ secret: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        let name = Array((FormEncoding.encode(clientID) + ":").utf8)
        let encoded = try FormEncoding.encode(secret)
        let pair = try GuardedBytes.concatenating(name.span, encoded.guarded.span)
        let text = try Encoding.base64(pair.span)
        let scheme = Array("Basic ".utf8)
        return SecretBytes(try GuardedBytes.concatenating(scheme.span, text.span))
    }
}

extension SecretBox {
    /// Creates a box with a copy of a token's bytes in guarded memory.
    convenience init(copying token: Token) throws(CofferError) {
        self.init(try token.guardedCopy())
    }
}
