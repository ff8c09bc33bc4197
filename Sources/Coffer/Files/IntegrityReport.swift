/// The result of checking every file in a store.
public struct IntegrityReport: Sendable, Equatable {
    /// The number of files in which every byte is authentic.
    public internal(set) var authentic = 0
    /// The files for which only the header was checked, because checking the content requires the context
    /// that is bound to the file.
    public internal(set) var contextNeeded: [FileID] = []
    /// The containers that are damaged, belong to another vault, or do not have the content that the index
    /// lists.
    public internal(set) var corrupt: [FileID] = []
    /// The containers that the index does not list: copies that were put back after a removal, or containers
    /// that another program created. Such containers are never removed automatically.
    public internal(set) var orphans: [FileID] = []
    /// The files that the index lists but whose containers do not exist.
    public internal(set) var missing: [FileID] = []

    init() {}

    /// Whether no problem was found.
    public var isClean: Bool { corrupt.isEmpty && orphans.isEmpty && missing.isEmpty }
}
