import CofferBase
import CofferEngine

/// The work that the core starts and that others do: the stores and the wipe build on the core, so it names
/// none of them.
struct VaultActions: Sendable {
    /// Removes the items of the class whose key was destroyed with the passcode. Called under the vault
    /// directory's lock.
    let removeOrphans:
        @Sendable (VaultCore, _ vault: borrowing Descriptor) throws(CofferError) -> PasscodeDependentItems
    /// Erases the vault after the last passcode that it allows was wrong.
    let erase: @Sendable (VaultCore) throws(CofferError) -> Void
}
