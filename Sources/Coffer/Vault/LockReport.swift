public import CofferBase
import CofferVault

/// The result of a lock that does not open the vault: see ``Vault/lock(at:)``.
public struct LockReport: Sendable {
    /// The vault that was locked; `nil` for every vault of this user.
    public let vaultID: VaultID?

    /// The number of keys, and keyrings of ephemeral tokens, removed from the kernel keyring.
    public let removed: Int

    /// Errors met on the way. None of them is known to have kept a key from being removed.
    public let failures: [CofferError]
}
