import CofferBase
import CofferEngine
import CofferVault

/// Methods that concern the protection classes of items.
extension VaultCore {
    /// Returns the class of a new item for which none is given.
    func defaultClass() throws(CofferError) -> ProtectionClass { try readKeybag().defaultClass }

    /// Returns `given` or, if it is `nil`, the class of a new item for which none is given.
    func classOrDefault(_ given: ProtectionClass?) throws(CofferError) -> ProtectionClass {
        if let given { given } else { try defaultClass() }
    }

    /// Runs `body` under the vault directory's lock, and runs it a second time with a verified passcode if it
    /// returns `nil` because it would give an item a class that protects the item less. Without a passcode in
    /// the vault, every caller counts as verified.
    func verifyingIfWeaker<Result>(
        _ passcode: Passcode?,
        _ body: (_ vault: borrowing Descriptor, _ isVerified: Bool) throws(CofferError) -> Result?
    ) throws(CofferError) -> Result {
        let first = try home.withExclusiveVault { (vault) throws(CofferError) -> Result? in
            let keybag = try Keybag.record.read(device: device, in: vault).payload
            return try body(vault, keybag.passcode == nil)
        }
        if let first { return first }
        guard let passcode else { throw CofferError.weakerClassNeedsPasscode }
        var second: Result?
        _ = try evaluating(passcode) { (keys, _, vault) throws(CofferError) in
            second = try body(vault, true)
            return keys
        }
        guard let second else { throw CofferError.weakerClassNeedsPasscode }
        return second
    }
}

extension CofferError {
    static var weakerClassNeedsPasscode: CofferError {
        CofferError(
            .locked,
            "Giving an item a class that protects the item less requires the vault's passcode, even while "
                + "the vault is unlocked.")
    }
}
