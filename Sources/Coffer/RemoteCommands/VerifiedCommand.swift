/// A command that a vault verified: genuine, for this vault, new and valid now. Only verification creates a
/// value of this type, and a vault carries out only verified commands.
public struct VerifiedCommand: Sendable, Hashable {
    let signed: SignedCommand

    init(_ unverified: SignedCommand) { self.signed = unverified }

    /// The contents of the command.
    public var content: RemoteCommand { signed.content }

    /// The key that signed the command.
    public var signer: AdministratorKey { signed.claimedSigner }

    /// SHA-256 of all bytes of the command, in hexadecimal.
    public var digest: String { signed.digest }
}
