public import Coffer
public import CofferBase
public import CofferCrypto

/// A server's verified message that it has ended a user's sessions (OpenID Connect Back-Channel Logout 1.0).
///
/// A program that receives such messages over HTTP verifies them and passes the revocations to
/// `Vault.handle(_:onRevocation:)`.
public struct LogoutToken: Sendable, Hashable {
    /// The user whose sessions ended; `nil` if the message names only a session.
    public let subject: String?
    /// The server's identifier of the session; `nil` if every session of the user ended.
    public let sessionID: String?
    /// The time of the message in seconds since 1970.
    public let issued: Int64
    /// The message's identifier.
    public let id: String
    /// The issuer.
    public let issuer: String

    /// The age at which a message is refused, in seconds.
    public static let maxAge: Int64 = 600
    /// The seconds by which the issuer's clock may differ.
    public static let leeway: Int64 = 60
    /// The permitted types: servers also send the common one.
    static let types = ["logout+jwt", "JWT"]
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    /// Verifies a message.
    ///
    /// - Parameters:
    ///   - token: The message, a signed JSON Web Token in its compact form.
    ///   - profile: The profile of the client that received it.
    ///   - keys: The issuer's keys.
    ///   - now: The time in seconds since 1970.
    /// - Returns: The message.
    /// - Throws: `notAuthentic` if the signature, the algorithm or the type is not as required;
    ///   `issuerMismatch` if another issuer sent it; `refused`, with the claim's name, if another claim is
    ///   missing or wrong; `invalidInput` if it is malformed.
    public static func verify(
        _ token: Token, for profile: OAuthProfile, keys: JSONWebKeySet, now: Int64
    ) throws(CofferError) -> LogoutToken {
        let copy = try token.guardedCopy()
        let verified = try JSONWebToken(verifying: copy, keys: keys, types: types)
        return try LogoutToken(verified.claims, profile, now: now)
    }

    /// Checks the claims of a message whose signature was verified.
    package init(_ claims: JSONValue, _ profile: OAuthProfile, now: Int64) throws(CofferError) {
        guard let issuer = claims["iss"]?.string, issuer.hasSameBytes(as: profile.issuer.text) else {
            throw CofferError(.issuerMismatch, "The logout token names another server than the expected one.")
        }
        // A token with several audiences tells other clients about this one's sessions.
        let audience = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
        guard audience.count == 1, audience[0].string?.hasSameBytes(as: profile.clientID) == true else {
            throw Self.refused("aud")
        }
        guard let issued = Self.seconds(claims["iat"]), issued <= now + Self.leeway,
            issued >= now - Self.maxAge
        else { throw Self.refused("iat") }
        guard let expiry = Self.seconds(claims["exp"]), now < expiry + Self.leeway else {
            throw Self.refused("exp")
        }
        guard let id = claims["jti"]?.string, (1...255).contains(id.utf8.count) else {
            throw Self.refused("jti")
        }
        guard claims["events"]?[Self.event]?.object != nil else { throw Self.refused("events") }
        // An id token must not pass for a logout token.
        guard claims["nonce"] == nil else { throw Self.refused("nonce") }
        subject = try Self.name("sub", in: claims)
        sessionID = try Self.name("sid", in: claims)
        guard subject != nil || sessionID != nil else { throw Self.refused("sub") }
        self.issuer = issuer
        self.issued = issued
        self.id = id
    }

    private static func refused(_ claim: String) -> CofferError {
        CofferError(.refused, "The logout token's claim \(claim) is not as required.")
    }

    private static func name(_ claim: String, in claims: JSONValue) throws(CofferError) -> String? {
        guard let value = claims[claim] else { return nil }
        guard let text = value.string, (1...255).contains(text.utf8.count) else { throw refused(claim) }
        return text
    }

    private static func seconds(_ value: JSONValue?) -> Int64? {
        guard let seconds = value?.double, (0...1e12).contains(seconds) else { return nil }
        return Int64(seconds)
    }

    /// Returns whether the message ends a session. A session that began after the message, or in the same
    /// second, by the server's clock as far as it is known, is another one: a message that somebody sends
    /// again does not end it.
    ///
    /// A message that names only the server's identifier of a session ends none here, because clients do not
    /// store these identifiers.
    ///
    /// - Parameter record: The session's record.
    /// - Returns: Whether the session ends.
    package func ends(_ record: GrantRecord) -> Bool {
        guard let subject, let own = record.subject, own.hasSameBytes(as: subject),
            record.issuer.hasSameBytes(as: issuer)
        else { return false }
        return record.signedIn.wall / 1000 + (record.clockSkew ?? 0) < issued
    }

    /// Returns the revocations of the sessions that the message ends.
    ///
    /// - Parameters:
    ///   - store: The sessions of the vault.
    ///   - profile: The profile of the client that received the message.
    /// - Returns: The revocations.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func revocations(
        in store: GrantStore, of profile: OAuthProfile
    ) async throws(CofferError) -> [Revocation] {
        var found: [Revocation] = []
        for grant in try await store.list() where grant.profile.hasSameBytes(as: profile.name) {
            guard let record = try await store.record(grant), ends(record) else { continue }
            found.append(
                .grantRevoked(reason: "the server ended the user's sessions", of: grant.tokenAccount))
        }
        return found
    }
}
