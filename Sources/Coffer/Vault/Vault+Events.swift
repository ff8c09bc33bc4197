extension Vault {
    /// A stream of the events that occur from now on. When an event reports that keys were evicted, those
    /// keys are already gone.
    ///
    /// Each access returns a separate stream, which ends when the vault object is deallocated. A stream that
    /// is not read keeps the newest 64 events.
    ///
    /// ```swift
    /// for await event in vault.events where event.kind == .locked {
    ///     hideSecrets(because: event.reason)
    /// }
    /// ```
    public var events: AsyncStream<VaultEvent> { core.events.stream() }
}
