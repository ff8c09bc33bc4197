/// A command that a vault has verified: the command is genuine, is for this vault, has not been carried out
/// before, and is currently valid. Only verification creates a value of this type, and a vault carries out
/// only verified commands.
public struct VerifiedCommand: Sendable, Hashable {
    let signed: SignedCommand

    init(_ unverified: SignedCommand) { self.signed = unverified }

    /// The command's contents.
    public var content: RemoteCommand { signed.content }

    /// The key that signed the command.
    public var signer: AdministratorKey { signed.claimedSigner }

    /// The SHA-256 digest of all the command's bytes, in hexadecimal.
    public var digest: String { signed.digest }
}
