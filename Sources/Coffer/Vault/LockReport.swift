public import CofferBase
import CofferVault

/// The result of locking a vault without opening it, which ``Vault/lock(at:)`` and ``Vault/lockAll()``
/// return.
public struct LockReport: Sendable {
    /// The vault that was locked; `nil` if all of this user's vaults were locked.
    public let vaultID: VaultID?

    /// The number of keys and ephemeral-token keyrings that were removed from the kernel keyring.
    public let removed: Int

    /// The errors that occurred. No error is known to have prevented the removal of a key.
    public let failures: [CofferError]
}
