/// The part of a key pair in a rotation, in which several key pairs have one alias.
public enum KeyPairRole: UInt8, Sendable, Hashable, CaseIterable {
    /// The key pair that its alias stands for.
    case current = 0
    /// A new key pair, which becomes the current one when its certificate is installed.
    case next = 1
    /// A key pair that was the current one. It is kept until it is retired, so that an SSH agent can still
    /// use it, and no other use of the alias reaches it.
    case former = 2
}
