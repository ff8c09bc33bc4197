import CofferBase
package import CofferVault

/// An access token of a session at a server, with the time for which it is valid. The time stands in the
/// token's attributes, so that it is never that of another token.
package struct GrantAccess: Sendable {
    private enum Attribute {
        static let generation = "oauth-sign-in", boot = "oauth-boot", sinceBoot = "oauth-since-boot"
        static let wall = "oauth-sent", life = "oauth-life", type = "oauth-type"
    }

    /// The attribute in which a session's tokens carry the name of the sign-in.
    package static let generation = Attribute.generation

    /// The token.
    package let token: Token
    /// The token's description.
    package let info: TokenInfo
    /// The time at which the request was sent that the token answered.
    package let sent: ClockStamp
    /// The token's life, counted from ``sent``.
    package let life: Duration
    /// Whether the token is bound to the session's key, so that each request needs a proof (RFC 9449).
    package let isDPoP: Bool

    private static let dpop = "DPoP"
    /// The longest life that a server can give a token, in seconds.
    private static let maxLife: Int64 = 315_360_000

    /// The longest time before the end of a token's life at which it is renewed.
    package static let longestLead = Duration.seconds(60)

    /// Creates an access token from a stored one of a sign-in; `nil` if it belongs to another sign-in.
    package init?(_ stored: StoredToken, of generation: String) {
        let attributes = stored.info.attributes
        guard let own = attributes[Attribute.generation], own.hasSameBytes(as: generation),
            let boot = attributes[Attribute.boot],
            let sinceBoot = attributes[Attribute.sinceBoot].flatMap({ Int64($0) }),
            let wall = attributes[Attribute.wall].flatMap({ Int64($0) }),
            let life = attributes[Attribute.life].flatMap({ Int64($0) }),
            (0...Int64.max / 4).contains(sinceBoot), (-Int64.max / 4...Int64.max / 4).contains(wall),
            (0...Self.maxLife).contains(life)
        else { return nil }
        token = stored.token
        info = stored.info
        sent = ClockStamp(boot: boot, sinceBoot: sinceBoot, wall: wall)
        self.life = .seconds(life)
        isDPoP = attributes[Attribute.type].map { $0.hasSameBytes(as: Self.dpop) } ?? false
    }

    /// Returns the attributes of an access token.
    package static func attributes(
        of generation: String, sent: ClockStamp, life: Int64, isDPoP: Bool
    ) -> [String: String] {
        [
            Attribute.type: isDPoP ? dpop : "Bearer",
            Attribute.generation: generation, Attribute.boot: sent.boot,
            Attribute.sinceBoot: String(sent.sinceBoot), Attribute.wall: String(sent.wall),
            Attribute.life: String(life),
        ]
    }

    /// Returns how long the token is still valid; zero if it has expired or if that is unknown.
    package func remaining(_ clock: VaultClock) -> Duration {
        sent.elapsed(clock).map { max(life - $0, .zero) } ?? .zero
    }

    /// Returns whether the token may still be sent.
    package func isAlive(_ clock: VaultClock) -> Bool { remaining(clock) > .zero }

    /// Returns whether the token is to be renewed: 60 seconds, or a tenth of its life, before its end.
    ///
    /// - Parameters:
    ///   - clock: The clock.
    ///   - minimumLife: The time for which the caller needs the token.
    /// - Returns: Whether it is to be renewed.
    package func isDue(_ clock: VaultClock, minimumLife: Duration = .zero) -> Bool {
        remaining(clock) <= max(minimumLife, min(Self.longestLead, life / 10))
    }
}
