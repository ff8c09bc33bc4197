/// The uses for which a key pair makes signatures.
public struct KeyPairUses: OptionSet, Sendable, Hashable {
    /// The uses as bits, as they are stored.
    public let rawValue: UInt16

    /// Creates a set of uses from stored bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Signatures for SSH: sign-in to servers, and what `ssh-keygen -Y sign` and git sign through an agent.
    public static let ssh = KeyPairUses(rawValue: 1)
    /// Signatures of any message that a program gives.
    public static let sign = KeyPairUses(rawValue: 2)

    /// The owner's authentication in TLS, with a certificate.
    public static let tlsClient = KeyPairUses(rawValue: 4)

    /// All uses that this release knows.
    static let known: KeyPairUses = [.ssh, .sign, .tlsClient]
}
