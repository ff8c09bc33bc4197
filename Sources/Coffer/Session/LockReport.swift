public import CofferBase

/// The result of a lock that opens nothing: see ``Vault/lock(at:)``.
public struct LockReport: Sendable {
    /// The vault that was locked; `nil`: every vault of this user.
    public let vaultID: VaultID?

    /// How many keys, and rings of volatile tokens, the kernel keyring had of it.
    public let removed: Int

    /// The errors met on the way. None of them is known to have kept a key.
    public let failures: [CofferError]
}
