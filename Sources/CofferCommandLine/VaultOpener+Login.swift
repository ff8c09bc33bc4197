package import Coffer
package import CofferBase

/// The unlock with the password of a login.
extension VaultOpener {
    /// Opens the vault and unlocks it with the password from `--passcode-fd`, with keys that can be cached
    /// for `duration`. Neither asks nor waits, and does not try the password if the vault is unlocked.
    package static func unlockedFromLogin(
        _ global: GlobalOptions, for duration: Duration?
    ) async throws(CofferError) -> Vault {
        guard let password = try passcode(global), !global.allowPrompt else {
            throw CofferError(
                .invalidInput, "--from-login requires --passcode-fd, and does not allow --allow-prompt.")
        }
        let vault = try await vault(global, isSilent: true)
        do throws(CofferError) {
            try await vault.announceHolding()
            if try await vault.restoreCachedKeys() {
                guard vault.canCacheKeys(for: duration) else { throw alreadyUnlocked }
                return vault
            }
            try await vault.unlock(withLoginPassword: password)
            guard vault.canCacheKeys(for: duration) else { throw lockedMeanwhile }
        } catch {
            vault.withdrawHolding()
            throw error
        }
        return vault
    }

    private static let lockedMeanwhile = CofferError(.locked, "The vault was locked in the meantime.")
    private static let alreadyUnlocked = CofferError(
        .refused, "The vault is already unlocked until a time of its own, so the login changes nothing.")
}
