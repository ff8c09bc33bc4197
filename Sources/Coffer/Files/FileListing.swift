/// The files that a store's index lists.
public struct FileListing: Sendable, Equatable {
    /// The descriptions of all listed files, including files whose containers are missing, sorted by the
    /// bytes of their names.
    public internal(set) var files: [FileInfo] = []
    /// Whether part of the index is damaged. ``FileStore/reindex()`` rebuilds the index from the containers.
    public internal(set) var isIndexDamaged = false
    /// Whether the index shows no damage but does not list all of the vault's containers.
    /// ``FileStore/reindex()`` adds the unlisted containers.
    public internal(set) var isIndexBehind = false
    /// The containers that are not listed in the index or, if the index is damaged, in its undamaged part.
    public internal(set) var unlisted: [FileID] = []
}
