/// A notice of revocation: a signed command from an administrator, or a revoked grant from its issuer.
public enum Revocation: Sendable, Hashable {
    /// The bytes of a signed command, which is verified and then carried out, whatever the policy.
    case order([UInt8])
    /// A revoked grant, with a reason for the receipt: the grant of an account or, without an account, the
    /// grant that all the vault's tokens stand for. The grant is not authenticated, so its source must be
    /// trusted; the policy determines the action.
    case grantRevoked(reason: String, of: TokenAccount? = nil)
}
