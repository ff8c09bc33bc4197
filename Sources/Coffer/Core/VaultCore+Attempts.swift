import CofferBase
import CofferEngine
import CofferVault

/// The counting of attempts.
extension VaultCore {
    /// Returns the number of wrong passcodes that can be entered before everything is erased; returns `nil`
    /// if no passcode is set, or if wrong passcodes never cause erasure. If a passcode is set, the counter
    /// must be readable.
    func attemptsLeft(_ keybag: Keybag) throws(CofferError) -> Int? {
        keybag.passcode == nil ? nil : try limiter(keybag).attemptsLeft(readAttempts())
    }

    /// Returns the limiter that counts attempts according to the settings in the keybag.
    func limiter(_ keybag: Keybag, _ rollbackGuard: RollbackGuard? = nil) -> AttemptLimiter {
        AttemptLimiter(
            device: device, clock: clock, delays: keybag.delaysAttempts,
            erases: keybag.erasesAfterTenFailures, managedLimit: managed.attemptLimit,
            rollbackGuard: rollbackGuard)
    }

    /// Returns the guard that keeps the attempt counter's generation outside of the vault directory; `nil`
    /// with file storage.
    func rollbackGuard(in vault: borrowing Descriptor) throws(CofferError) -> RollbackGuard? {
        guard try DeviceKeyFile.read(in: vault).backend == .secretService else { return nil }
        return try RollbackGuard(device: device, client: home.service)
    }
}
