/// Whether requests prove the possession of a key (DPoP, RFC 9449).
public enum KeyProofUse: String, Sendable, Hashable, CaseIterable {
    /// Where the server offers it.
    case whenOffered
    /// Always; a server without it is refused.
    case always
    /// Never.
    case never
}
