/// An order that a vault has found to be genuine, for it, new and in time. Only verification makes one, and
/// only such an order is carried out.
public struct VerifiedCommand: Sendable, Hashable {
    let signed: SignedCommand

    init(_ unverified: SignedCommand) { self.signed = unverified }

    /// What it says.
    public var order: RemoteCommand { signed.content }

    /// Who signed it.
    public var signer: AdministratorKey { signed.claimedSigner }

    /// SHA-256 of all its bytes, in hexadecimal.
    public var digest: String { signed.digest }
}
