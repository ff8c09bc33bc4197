/// What looking at every file of a store found.
public struct IntegrityReport: Sendable, Equatable {
    /// Files whose every byte is authentic.
    public internal(set) var authentic = 0
    /// Files whose header is authentic; the content needs the context that is bound into them.
    public internal(set) var contextNeeded: [FileID] = []
    /// Containers that are damaged, of another vault, or not the content that the index knows.
    public internal(set) var damaged: [FileID] = []
    /// Containers that the index does not know: copies put back after they were removed, or made by somebody
    /// else. They are never removed by themselves.
    public internal(set) var orphans: [FileID] = []
    /// Files that the index knows and that are not there.
    public internal(set) var missing: [FileID] = []

    init() {}

    /// Whether nothing is wrong.
    public var isClean: Bool { damaged.isEmpty && orphans.isEmpty && missing.isEmpty }
}
