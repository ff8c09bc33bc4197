extension Vault {
    /// Starts counting the inactivity time when the app moves to the background because its windows are
    /// hidden or its user works elsewhere.
    ///
    /// Until ``enterForeground()`` is called, using the vault does not restart that time, so work in the
    /// background does not keep the vault unlocked. Call both functions from the app's life cycle, for
    /// example when its last window loses focus. Calling this function again in the background has no effect,
    /// and neither does calling it without an inactivity time (``VaultOptions/inactivity``).
    public func enterBackground() { core.keys.enterBackground() }

    /// Ends the time in the background when the user returns, and restarts the inactivity time.
    ///
    /// If the app was in the background for the inactivity time or longer, the vault is locked when this
    /// returns, even if the process was stopped or the machine was suspended, because the boot-time clock,
    /// which measures that time, keeps running during suspension. Call this before the app shows anything
    /// secret.
    ///
    /// - Returns: Whether the vault is still unlocked.
    @discardableResult
    public func enterForeground() -> Bool {
        core.keys.enterForeground()
        return isUnlocked
    }
}
