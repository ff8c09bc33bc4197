extension Vault {
    /// A stream of the events that occur from now on. By the time an event is delivered, the keys are gone.
    ///
    /// Each access returns a separate stream, which ends with the vault object. A stream that is not read
    /// keeps the newest 64 events.
    ///
    /// ```swift
    /// for await event in vault.events where event.kind == .locked {
    ///     hideSecrets(because: event.reason)
    /// }
    /// ```
    public var events: AsyncStream<VaultEvent> { core.events.stream() }
}
