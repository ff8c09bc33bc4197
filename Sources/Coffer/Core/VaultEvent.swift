/// An event that concerns a vault's keys.
public struct VaultEvent: Sendable, Hashable {
    /// The kind of event.
    public enum Kind: String, Sendable, CaseIterable {
        /// Class keys were inserted.
        case unlocked
        /// The keys that a lock evicts are gone from memory.
        case locked
        /// Every key is gone from memory.
        case closed
        /// The vault was wiped.
        case wiped
        /// A grant was revoked, or a signed command to wipe arrived. The revocation has not been processed
        /// yet.
        case revoked
        /// The revocation was processed, or processing it failed.
        case revocationProcessed = "revocationHandled"
        /// The administrator's policy is another one than at the last unlock, or there is none any more.
        case policyChanged

        /// Whether this kind of event evicts keys.
        var evictsKeys: Bool { [.locked, .closed, .wiped].contains(self) }
    }

    /// The kind of event.
    public let kind: Kind
    /// The reason why the keys were evicted, for a ``Kind/locked`` or ``Kind/closed`` event; otherwise `nil`.
    public let reason: LockReason?

    /// The result of the revocation, for a ``Kind/revocationProcessed`` event; otherwise `nil`.
    public let revocation: RevocationResult?

    /// Creates an event, for example to compare with a received event in a test.
    ///
    /// - Parameters:
    ///   - kind: The kind of event.
    ///   - reason: The reason why the keys were evicted.
    ///   - revocation: The result of the revocation.
    public init(_ kind: Kind, _ reason: LockReason? = nil, revocation: RevocationResult? = nil) {
        self.kind = kind
        self.reason = reason
        self.revocation = revocation
    }
}
