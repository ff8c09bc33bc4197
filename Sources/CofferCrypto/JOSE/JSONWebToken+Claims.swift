public import CofferBase
import CofferEngine

extension JSONWebToken {
    /// The requirements for an id token (OpenID Connect Core 1.0 section 3.1.3.7).
    public struct ClaimRules: Sendable {
        /// The issuer, compared byte for byte.
        public var issuer: String
        /// The client's id, which must be in the audience.
        public var audience: String
        /// Other permitted members of the audience.
        public var otherAudiences: [String] = []
        /// The subject that earlier tokens named; `nil` permits any.
        public var subject: String?
        /// The current time in seconds since 1970.
        public var now: Int64
        /// The number of seconds by which the issuer's clock may differ.
        public var leeway: Int64 = 60
        /// The number of seconds after which a token is too old, whatever its expiry; `nil` permits any age.
        public var maximumAge: Int64?

        /// Creates rules with 60 seconds of leeway.
        ///
        /// - Parameters:
        ///   - issuer: The issuer.
        ///   - audience: The client's id.
        ///   - now: The current time in seconds since 1970.
        public init(issuer: String, audience: String, now: Int64) {
            self.issuer = issuer
            self.audience = audience
            self.now = now
        }
    }

    /// The largest permitted time and duration in seconds, so that sums cannot overflow.
    private static let largestTime: Int64 = 1 << 50

    private static func refused(_ claim: String) -> CofferError {
        CofferError(.refused, "The token's claim \(claim) is not as required.")
    }

    /// Checks issuer, audience, authorized party, subject and times.
    ///
    /// - Throws: `refused`, with the claim's name in the message, if one is missing or wrong; `invalidInput`
    ///   if a number in the rules is out of range.
    public func check(_ rules: ClaimRules) throws(CofferError) {
        let durations = [rules.now, rules.leeway, rules.maximumAge ?? 0]
        guard durations.allSatisfy({ 0...Self.largestTime ~= $0 }) else {
            throw CofferError(.invalidInput, "A time in the rules for a token is out of range.")
        }
        guard claims["iss"]?.string?.hasSameBytes(as: rules.issuer) == true else { throw Self.refused("iss") }
        try checkAudience(rules)
        guard let subject = claims["sub"]?.string, 1...255 ~= subject.utf8.count,
            rules.subject.map({ $0.hasSameBytes(as: subject) }) ?? true
        else { throw Self.refused("sub") }
        guard let expiry = Self.seconds(claims["exp"]), rules.now < expiry + rules.leeway else {
            throw Self.refused("exp")
        }
        guard let issued = Self.seconds(claims["iat"]), issued <= rules.now + rules.leeway,
            rules.maximumAge.map({ issued + $0 + rules.leeway >= rules.now }) ?? true
        else { throw Self.refused("iat") }
        if let claim = claims["nbf"] {
            guard let start = Self.seconds(claim), start <= rules.now + rules.leeway else {
                throw Self.refused("nbf")
            }
        }
    }

    private func checkAudience(_ rules: ClaimRules) throws(CofferError) {
        guard let claim = claims["aud"] else { throw Self.refused("aud") }
        let audience: [JSONValue] = claim.array ?? [claim]
        let names = audience.compactMap(\.string)
        let permitted = [rules.audience] + rules.otherAudiences
        guard names.count == audience.count, names.contains(where: { $0.hasSameBytes(as: rules.audience) }),
            names.allSatisfy({ name in permitted.contains { $0.hasSameBytes(as: name) } })
        else { throw Self.refused("aud") }
        if let party = claims["azp"] {
            guard party.string?.hasSameBytes(as: rules.audience) == true else { throw Self.refused("azp") }
        } else if names.count > 1 {
            throw Self.refused("azp")
        }
    }

    /// Returns a time in whole seconds; `nil` if it is not a number from 1970 on.
    private static func seconds(_ value: JSONValue?) -> Int64? {
        let seconds: Int64?
        switch value {
        case .integer(let number)?: seconds = number
        case .number(let number)?: seconds = Int64(exactly: number.rounded(.down))
        default: seconds = nil
        }
        guard let seconds, 0...largestTime ~= seconds else { return nil }
        return seconds
    }

    /// Checks that the token answers the request with this nonce.
    ///
    /// - Throws: `refused` if the token has no nonce or another one.
    public func checkNonce(_ nonce: borrowing SecretBytes) throws(CofferError) {
        guard let claim = claims["nonce"]?.string,
            ConstantTime.equal(Array(claim.utf8).span, nonce.guarded.span)
        else { throw Self.refused("nonce") }
    }

    /// Checks that the id token was issued together with this access token.
    ///
    /// - Parameters:
    ///   - accessToken: The access token.
    ///   - isRequired: Whether the token must have the claim `at_hash`.
    /// - Throws: `refused` if the claim is wrong, or missing where it is required.
    public func checkAccessToken(
        _ accessToken: borrowing SecretBytes, isRequired: Bool = false
    ) throws(CofferError) {
        guard let claim = claims["at_hash"] else {
            if isRequired { throw Self.refused("at_hash") }
            return
        }
        // The hash is the one of the signature's algorithm, and Ed25519 uses SHA-512.
        let digest: Digest = algorithm == .edDSA ? .sha512 : .sha256
        let hash = try digest.hash(accessToken.guarded.span)
        let expected = try Base64URL.encode(Array(hash.prefix(hash.count / 2)))
        guard claim.string?.hasSameBytes(as: expected) == true else { throw Self.refused("at_hash") }
    }
}
