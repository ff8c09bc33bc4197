/// The files that a store's index lists.
public struct FileListing: Sendable, Equatable {
    /// The description of every listed file, including files whose containers are missing, sorted by the
    /// bytes of their names.
    public internal(set) var files: [FileInfo] = []
    /// Whether part of the index is damaged. ``FileStore/reindex()`` rebuilds it from the containers.
    public internal(set) var isIndexDamaged = false
    /// Whether the index shows no damage but does not list all of the vault's containers.
    /// ``FileStore/reindex()`` adds them.
    public internal(set) var isIndexBehind = false
    /// The containers that the index, or its undamaged part, does not list.
    public internal(set) var unlisted: [FileID] = []
}
