/// A command that a vault verified: genuine, for this vault, new and valid now. Only verification creates
/// one, and only verified commands are carried out.
public struct VerifiedCommand: Sendable, Hashable {
    let signed: SignedCommand

    init(_ unverified: SignedCommand) { self.signed = unverified }

    /// The contents of the command.
    public var content: RemoteCommand { signed.content }

    /// The key that signed it.
    public var signer: AdministratorKey { signed.claimedSigner }

    /// SHA-256 of all its bytes, in hexadecimal.
    public var digest: String { signed.digest }
}
