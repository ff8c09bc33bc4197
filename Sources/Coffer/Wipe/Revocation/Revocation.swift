/// Word that something was taken back: from an administrator, signed, or from whoever issued a grant.
public enum Revocation: Sendable, Hashable {
    /// The bytes of a signed order. It is verified, and then obeyed whatever the policy says.
    case order([UInt8])
    /// A grant was taken back, in words for the receipt: that of an account, or without one what all the
    /// vault's tokens stand for. Nothing vouches for it but its source: the policy says what follows.
    case grantRevoked(reason: String, of: TokenAccount? = nil)
}
