public import FoundationEssentials

/// What a wipe did, and what it cannot vouch for.
///
/// The erasure is cryptographic: the keys under this vault's control are destroyed, and what was under them
/// is noise. That is clearing in the sense of NIST SP 800-88, not purging.
public struct WipeReceipt: Sendable, Codable, Equatable {
    /// The vault that is no more.
    public let vaultID: UUID
    /// What was wiped of it: ``WipeScope/name``.
    public let scope: String
    /// Why it was wiped.
    public let reason: String
    /// SHA-256, in hexadecimal, of the signed order that it carried out; `nil` without one.
    public let orderDigest: String?
    /// When it began.
    public let started: Date
    /// When it ended.
    public let finished: Date
    /// Milliseconds until every key was destroyed.
    public let keysDestroyedAfterMilliseconds: Double
    /// Whether this completed a wipe that had been interrupted.
    public let completesInterrupted: Bool
    /// How much of each kind was removed and found to be gone: keys, viewCopies, files, tokenFiles, tokens,
    /// keyringItems, namespaces, others.
    public let removed: [String: Int]
    /// What cannot be proved to be gone.
    public let unproved: [String]
}
