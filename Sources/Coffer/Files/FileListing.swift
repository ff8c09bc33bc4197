/// The files of a store as far as its index says.
public struct FileListing: Sendable, Equatable {
    /// The description of each file, ordered by the bytes of the names; also of those whose containers are
    /// missing.
    public internal(set) var files: [FileInfo] = []
    /// Whether a part of the index is damaged: ``FileStore/reindex()`` rebuilds it from the containers.
    public internal(set) var isIndexDamaged = false
    /// Whether the index has no damage that shows and does not know all of the vault's containers:
    /// ``FileStore/reindex()`` takes them in.
    public internal(set) var isIndexBehind = false
    /// The containers that the index, or what is left of it, does not know.
    public internal(set) var unlisted: [FileID] = []
}
