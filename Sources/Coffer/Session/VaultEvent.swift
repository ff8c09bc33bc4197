/// Something that happened to a session's keys.
public struct VaultEvent: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, CaseIterable {
        /// Class keys came in.
        case unlocked
        /// The keys that a lock drops are gone from memory.
        case locked
        /// Every key is gone from memory.
        case closed
        /// The vault was wiped.
        case wiped
        /// Something was taken back, or a signed order to wipe came in; nothing was done about it yet.
        case revoked
        /// What was taken back has been dealt with, or that failed.
        case revocationProcessed = "revocationHandled"

        /// Whether keys went.
        var dropsKeys: Bool { [.locked, .closed, .wiped].contains(self) }
    }

    /// What happened.
    public let kind: Kind
    /// Why; `nil` for what was asked of the vault itself.
    public let reason: LockReason?

    /// The result of the revocation; with ``Kind/revocationProcessed`` alone.
    public let revocation: RevocationResult?

    /// An event, as a test expects it.
    public init(_ kind: Kind, _ reason: LockReason? = nil, revocation: RevocationResult? = nil) {
        self.kind = kind
        self.reason = reason
        self.revocation = revocation
    }
}

extension Vault {
    /// What happens to the keys from now on. By the time an event comes out, the keys are gone already.
    ///
    /// Each call gives a stream of its own, which ends with the session. Who does not read keeps the newest
    /// 64 events.
    ///
    /// ```swift
    /// for await event in session.events where event.kind == .locked {
    ///     hideSecrets(because: event.reason)
    /// }
    /// ```
    public var events: AsyncStream<VaultEvent> { core.hub.stream() }
}
