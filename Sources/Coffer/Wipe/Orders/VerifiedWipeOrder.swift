/// An order that a vault has found to be genuine, for it, new and in time. Only verification makes one, and
/// only such an order is carried out.
public struct VerifiedWipeOrder: Sendable, Hashable {
    let unverified: UnverifiedWipeOrder

    init(_ unverified: UnverifiedWipeOrder) { self.unverified = unverified }

    /// What it says.
    public var order: WipeOrder { unverified.claimed }

    /// Who signed it.
    public var signer: AdministratorKey { unverified.claimedSigner }

    /// SHA-256 of all its bytes, in hexadecimal.
    public var digest: String { unverified.digest }
}
