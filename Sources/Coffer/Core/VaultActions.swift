import CofferBase
import CofferEngine

/// The operations that the core calls but does not implement, because the stores and the wipe depend on the
/// core, and the core must not depend on them.
struct VaultActions: Sendable {
    /// Removes the items of the class whose key was destroyed with the passcode. The caller holds the vault
    /// directory's lock.
    let removeOrphans:
        @Sendable (VaultCore, _ vault: borrowing Descriptor) throws(CofferError) -> PasscodeDependentItems
    /// Erases the vault after the last allowed passcode attempt failed.
    let erase: @Sendable (VaultCore) throws(CofferError) -> Void
}
