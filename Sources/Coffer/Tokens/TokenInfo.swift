import CofferBase
import CofferVault
public import FoundationEssentials

/// A stored token's description, which does not include its value. The description is private rather than
/// secret, but on disk it is sealed like the value.
public struct TokenInfo: Sendable, Equatable {
    /// The token's name.
    public let id: TokenID
    /// The version, which starts at 1 and increases with each new value; `nil` while the value is pending.
    public let version: UInt64?
    /// The protection class, which determines when the token can be read.
    public let protection: ProtectionClass
    /// The time at which this version was stored.
    public let stored: Date
    /// The time at which the token expires, according to its issuer; `nil` if it never expires. Expired
    /// tokens are kept.
    public let expires: Date?
    /// The token's OAuth scopes.
    public let scopes: [String]
    /// The caller's own attributes.
    public let attributes: [String: String]
    /// Whether the token is ephemeral: it is kept only in memory, and the next lock drops it.
    public internal(set) var isEphemeral: Bool
    /// Whether the value was stored while its class was locked and its name had no stored value. The sender
    /// of such a value is unknown. Storing a value while the class is unlocked clears this mark.
    public internal(set) var isStoredWhileLocked: Bool

    /// Creates a description for use in an app's test doubles.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - version: The version; `nil` while the value is pending.
    ///   - protection: The protection class.
    ///   - stored: The time at which this version was stored.
    ///   - expires: The time at which the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes.
    ///   - attributes: The caller's own attributes.
    ///   - isEphemeral: Whether the token is kept only in memory.
    ///   - isStoredWhileLocked: Whether the value was stored while its class was locked.
    public init(
        id: TokenID, version: UInt64?, protection: ProtectionClass, stored: Date, expires: Date? = nil,
        scopes: [String] = [], attributes: [String: String] = [:], isEphemeral: Bool = false,
        isStoredWhileLocked: Bool = false
    ) {
        self.id = id
        self.version = version
        self.protection = protection
        self.stored = stored
        self.expires = expires
        self.scopes = scopes
        self.attributes = attributes
        self.isEphemeral = isEphemeral
        self.isStoredWhileLocked = isStoredWhileLocked
    }

    /// Returns whether two descriptions are equal. Text is compared byte by byte; Swift itself compares
    /// strings by canonical equivalence.
    public static func == (left: TokenInfo, right: TokenInfo) -> Bool {
        left.version == right.version && left.stored == right.stored && left.isEphemeral == right.isEphemeral
            && left.isStoredWhileLocked == right.isStoredWhileLocked && left.describesTheSame(as: right)
    }

    /// Returns whether both descriptions are equal except for the version, the storage date and the marks.
    func describesTheSame(as other: TokenInfo) -> Bool {
        id == other.id && protection == other.protection && expires == other.expires
            && bytes(scopes) == bytes(other.scopes) && bytes(attributes) == bytes(other.attributes)
    }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    private func bytes(_ attributes: [String: String]) -> [[UInt8]: [UInt8]] {
        Dictionary(attributes.map { (Array($0.utf8), Array($1.utf8)) }) { first, _ in first }
    }

    /// The maximum number of scopes, and also the maximum number of attributes.
    package static let maxEntryCount = 1024
    /// The maximum total size of the scopes and attributes, in bytes of UTF-8.
    package static let maxTextLength = 1 << 16

    /// Throws `invalidInput` for values that an envelope cannot hold: too many scopes or attributes, too much
    /// text in them, or an expiry date that a 64-bit count of nanoseconds since 1970 cannot represent.
    func checkLimits() throws(CofferError) {
        var bytes = scopes.reduce(0) { $0 + $1.utf8.count }
        for (name, value) in attributes { bytes += name.utf8.count + value.utf8.count }
        guard scopes.count <= Self.maxEntryCount, attributes.count <= Self.maxEntryCount,
            bytes <= Self.maxTextLength
        else {
            throw CofferError(
                .invalidInput,
                "A token can have at most \(Self.maxEntryCount) scopes and \(Self.maxEntryCount) attributes, "
                    + "with a total size of at most \(Self.maxTextLength) bytes.")
        }
        guard expires.map({ abs($0.timeIntervalSince1970) < 9e9 }) ?? true else {
            throw CofferError(.invalidInput, "The expiry date is too far in the past or in the future.")
        }
    }

    /// The version as the envelope encodes it: 0 while the value is pending.
    var number: UInt64 { version ?? 0 }

    /// Returns whether the token has expired at a given time.
    public func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    /// Returns a copy with the given version and mark. The copy is not ephemeral.
    func numbered(_ version: UInt64?, isStoredWhileLocked: Bool) -> TokenInfo {
        TokenInfo(
            id: id, version: version, protection: protection, stored: stored, expires: expires,
            scopes: scopes, attributes: attributes, isStoredWhileLocked: isStoredWhileLocked)
    }
}
