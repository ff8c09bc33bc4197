extension Vault {
    /// Starts counting the inactivity time when the app moves to the background, for example because its
    /// windows are hidden or the user is working in another app.
    ///
    /// Until you call ``enterForeground()``, using the vault does not restart the inactivity time, so work in
    /// the background does not keep the vault unlocked. Call both methods from the app's life cycle, for
    /// example when the app's last window loses focus and when a window regains it. Calling this method again
    /// in the background has no effect, nor does calling it for a vault without an inactivity time
    /// (``VaultOptions/inactivity``).
    public func enterBackground() { core.keys.enterBackground() }

    /// Ends the app's time in the background when the user returns, and restarts the inactivity time.
    ///
    /// If the app was in the background for the inactivity time or longer, the vault is locked when this
    /// method returns. This is true even if the process was stopped or the machine was suspended, because the
    /// inactivity time is measured with the boot-time clock, which keeps running during suspension. Call this
    /// method before the app shows anything secret.
    ///
    /// - Returns: Whether the vault is still unlocked.
    @discardableResult
    public func enterForeground() -> Bool {
        core.keys.enterForeground()
        return isUnlocked
    }
}
