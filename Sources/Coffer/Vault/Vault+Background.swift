extension Vault {
    /// Starts the inactivity time, because the app has moved to the background: its windows are hidden, or
    /// its user works elsewhere.
    ///
    /// Until ``enterForeground()``, no use of the vault restarts that time, so work in the background does
    /// not keep it unlocked. Call both from the app's own life cycle, such as when its last window loses the
    /// focus. Calling this again in the background changes nothing. Without an inactivity time
    /// (``VaultOptions/inactivity``) it has no effect.
    public func enterBackground() { core.keys.enterBackground() }

    /// Ends the time in the background, because the user is back, and restarts the inactivity time.
    ///
    /// If the app was in the background for the inactivity time or longer, the vault is locked when this
    /// returns, even if the process was stopped or the machine was suspended: the boot-time clock decides,
    /// which continues during suspension. Call this before the app shows anything secret.
    ///
    /// - Returns: Whether the vault is still unlocked.
    @discardableResult
    public func enterForeground() -> Bool {
        core.keys.enterForeground()
        return isUnlocked
    }
}
