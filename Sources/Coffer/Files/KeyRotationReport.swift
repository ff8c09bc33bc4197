/// The result of a key rotation.
public struct KeyRotationReport: Sendable, Equatable {
    /// The number of containers rewrapped in this run.
    public internal(set) var rewrapped = 0
    /// The number of old keys destroyed. Nothing that was wrapped under them can be opened any more.
    public internal(set) var destroyedKeys = 0
    /// Containers that could not be read. The old keys are kept as long as a container is unreadable.
    public internal(set) var unreadable: [FileID] = []

    init() {}
}
