/// The result of a key rotation.
public struct KeyRotationReport: Sendable, Equatable {
    /// The number of containers that this rotation rewrapped.
    public internal(set) var rewrapped = 0
    /// The number of old keys that were destroyed. Data that was wrapped under these keys can no longer be
    /// opened.
    public internal(set) var destroyedKeys = 0
    /// The containers that could not be read. The old keys are kept as long as any container is unreadable.
    public internal(set) var unreadable: [FileID] = []

    init() {}
}
