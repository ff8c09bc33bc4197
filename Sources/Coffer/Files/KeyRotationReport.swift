/// What replacing the keys of files did.
public struct KeyRotationReport: Sendable, Equatable {
    /// How many containers were wrapped anew in this run.
    public internal(set) var rewrapped = 0
    /// How many old keys were destroyed: whatever was wrapped under them opens with nothing any more.
    public internal(set) var destroyedKeys = 0
    /// Containers that could not be read. The old keys stay as long as there are any.
    public internal(set) var unreadable: [FileID] = []

    init() {}
}
