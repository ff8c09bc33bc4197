import CofferBase
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
    /// Whether it is in memory alone and goes with the next lock.
    public internal(set) var isEphemeral = false
    /// Whether it came in while its class was locked and nothing was stored under its name: nobody can tell
    /// who put it there. Storing a value while unlocked ends that.
    public internal(set) var isStoredWhileLocked = false

    /// Whether both say the same, byte for byte. Strings themselves compare by canonical equivalence.
    public static func == (left: TokenInfo, right: TokenInfo) -> Bool {
        left.version == right.version && left.stored == right.stored && left.isEphemeral == right.isEphemeral
            && left.isStoredWhileLocked == right.isStoredWhileLocked && left.describesTheSame(as: right)
    }

    /// Whether both say the same but for version, date and marks.
    func describesTheSame(as other: TokenInfo) -> Bool {
        id == other.id && protection == other.protection && expires == other.expires
            && bytes(scopes) == bytes(other.scopes) && bytes(attributes) == bytes(other.attributes)
    }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    private func bytes(_ attributes: [String: String]) -> [[UInt8]: [UInt8]] {
        Dictionary(attributes.map { (Array($0.utf8), Array($1.utf8)) }) { first, _ in first }
    }

    /// The most scopes, and the most attributes.
    static let maxEntryCount = 1024
    /// The most bytes of UTF-8 in scopes and attributes together.
    static let maxTextLength = 1 << 16

    /// Refuses what the envelope cannot hold: too many scopes or attributes, or an expiry that nanoseconds
    /// since 1970 in 64 bits cannot tell.
    func checkLimits() throws(CofferError) {
        var bytes = scopes.reduce(0) { $0 + $1.utf8.count }
        for (name, value) in attributes { bytes += name.utf8.count + value.utf8.count }
        guard scopes.count <= Self.maxEntryCount, attributes.count <= Self.maxEntryCount,
            bytes <= Self.maxTextLength
        else {
            throw CofferError(
                .invalidInput,
                "A token has at most \(Self.maxEntryCount) scopes and as many attributes, "
                    + "of \(Self.maxTextLength) bytes together.")
        }
        guard expires.map({ abs($0.timeIntervalSince1970) < 9e9 }) ?? true else {
            throw CofferError(.invalidInput, "The expiry is too far from 1970.")
        }
    }

    /// Whether the token is past its expiry.
    public func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    /// The same as a stored version of this number.
    func numbered(_ version: UInt64, isStoredWhileLocked: Bool) -> TokenInfo {
        var info = TokenInfo(
            id: id, version: version, protection: protection, stored: stored, expires: expires,
            scopes: scopes, attributes: attributes)
        info.isStoredWhileLocked = isStoredWhileLocked
        return info
    }
}
