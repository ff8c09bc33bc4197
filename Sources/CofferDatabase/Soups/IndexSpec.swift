/// One path of a soup's documents, by which they can be found.
public struct IndexSpec: Sendable, Hashable {
    /// How the values at a path are kept.
    public enum Kind: String, Sendable, CaseIterable {
        /// As text, compared byte by byte. Numbers, arrays and objects are kept as their JSON text.
        case string
        /// As whole numbers; a fraction is cut off. What is not a number is not found by this index.
        case integer
        /// As floating numbers. What is not a number is not found by this index.
        case floating
        /// As words, for ``QuerySpec/match(_:path:orderPath:order:pageSize:)``: those of every text below
        /// the path.
        case fullText
        /// As SQLite's JSON functions see it. Takes no room in the entry, but does not look into arrays.
        case json1
    }

    /// Keys from the outside in, with a dot between two: `Owner.Name`. Case matters. `\.` is a dot and `\\`
    /// a backslash inside a key. An array on the way stands for all its elements.
    public let path: String

    /// How the values are kept.
    public let kind: Kind

    /// An index on `path`.
    public init(_ path: String, _ kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
