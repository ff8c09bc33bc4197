/// A revocation notice: a signed command from an administrator, or a revoked grant from its issuer.
public enum Revocation: Sendable, Hashable {
    /// The bytes of a signed command, which is verified and then carried out, regardless of the policy.
    case order([UInt8])
    /// A revoked grant, with the reason to state in the receipt: an account's grant or, without an account,
    /// the grant on which all of the vault's tokens are based. The grant is not authenticated, so its source
    /// must be trusted; the policy determines the action.
    case grantRevoked(reason: String, of: TokenAccount? = nil)
}
