public import CofferBase
import CofferVault

/// The result of locking a vault without opening it, which ``Vault/lock(at:)`` and ``Vault/lockAll()``
/// return.
public struct LockReport: Sendable {
    /// The vault that was locked; `nil` if all of this user's vaults were locked.
    public let vaultID: VaultID?

    /// The number of keys and ephemeral-token keyrings that were removed from the kernel keyring.
    public let removed: Int

    /// Whether the vault has a passcode; `nil` if that is unknown or if all vaults were locked. A vault
    /// without one opens again without being asked. This comes from a record that a lock does not
    /// authenticate: use it only to inform the user.
    public let hasPasscode: Bool?

    /// The errors that occurred. None of them is known to have prevented the removal of a key.
    public let failures: [CofferError]
}
