public import CofferBase
import CofferVault

/// The result of a lock that does not open the vault: see ``Vault/lock(at:)``.
public struct LockReport: Sendable {
    /// The vault that was locked; `nil` if every vault of this user was locked.
    public let vaultID: VaultID?

    /// The number of keys, and keyrings of ephemeral tokens, removed from the kernel keyring.
    public let removed: Int

    /// The errors that occurred. None of them is known to have prevented the removal of a key.
    public let failures: [CofferError]
}
