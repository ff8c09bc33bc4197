public import FoundationEssentials

/// What is known of a stored token besides its value. Not secret, but private: sealed on the disk like the
/// value.
public struct TokenInfo: Sendable, Equatable {
    /// What it is found by.
    public let id: TokenID
    /// Counts up with each new value, from 1.
    public let version: UInt64
    /// When it can be read.
    public let protection: ProtectionClass
    /// When this version was stored.
    public let stored: Date
    /// When the token stops being valid, as its issuer said; `nil` for never. An expired token is kept.
    public let expires: Date?
    /// OAuth scopes.
    public let scopes: [String]
    /// The caller's own attributes.
    public let attributes: [String: String]

    /// Whether the token is past its expiry.
    public func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }
}
