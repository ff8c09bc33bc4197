import CofferBase
import CofferEngine

extension VaultActions {
    /// The actions that this module supplies to every vault.
    static let ofStores = VaultActions(
        removeOrphans: { (core, vault: borrowing Descriptor) throws(CofferError) in
            try core.removeOrphans(in: vault)
        },
        erase: { (core) throws(CofferError) in
            let eraser = VaultEraser(home: core.home, clock: core.clock)
            _ = try eraser.wipe(.all, reason: "ten wrong passcodes", by: core)
        })
}
