/// The files of a store, as far as its index lists them.
public struct FileListing: Sendable, Equatable {
    /// The description of each file, ordered by the bytes of the names, including files whose containers are
    /// missing.
    public internal(set) var files: [FileInfo] = []
    /// Whether a part of the index is damaged. ``FileStore/reindex()`` rebuilds it from the containers.
    public internal(set) var isIndexDamaged = false
    /// Whether the index shows no damage but does not list all of the vault's containers.
    /// ``FileStore/reindex()`` adds them.
    public internal(set) var isIndexBehind = false
    /// The containers that the index, or what remains of it, does not list.
    public internal(set) var unlisted: [FileID] = []
}
