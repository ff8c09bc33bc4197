/// A notice of revocation: a signed order from an administrator, or a revoked grant from its issuer.
public enum Revocation: Sendable, Hashable {
    /// The bytes of a signed order. It is verified and then carried out, whatever the policy.
    case order([UInt8])
    /// A grant was revoked, with a reason for the receipt: the grant of an account, or without one the grant
    /// that all the vault's tokens stand for. Only its source vouches for it; the policy determines the
    /// action.
    case grantRevoked(reason: String, of: TokenAccount? = nil)
}
