/// The files of a store as far as its index says.
public struct FileListing: Sendable, Equatable {
    /// The description of each file, ordered by the bytes of the names.
    public internal(set) var files: [FileInfo] = []
    /// Whether a part of the index is damaged: ``FileStore/reindex()`` rebuilds it from the containers.
    public internal(set) var isIndexDamaged = false
    /// With a damaged index, the containers that the rest of it does not know.
    public internal(set) var unlisted: [FileID] = []
}
