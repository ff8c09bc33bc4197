/// An indexed path of a soup's documents, by which they can be found.
public struct IndexSpec: Sendable, Hashable {
    /// How the values at a path are stored.
    public enum Kind: String, Sendable, CaseIterable {
        /// Text, compared byte by byte. Numbers, arrays and objects are stored as their JSON text.
        case string
        /// Whole numbers; a fraction is cut off. This index does not find values that are not numbers.
        case integer
        /// Floating-point numbers. This index does not find values that are not numbers.
        case floating
        /// Words, for ``QuerySpec/match(_:path:orderPath:order:pageSize:)``: the words of every text below
        /// the path.
        case fullText
        /// The value that SQLite's JSON functions return. Takes no space in the entry, but does not look into
        /// arrays.
        case json1
    }

    /// Keys from the outermost to the innermost, separated by dots: `Owner.Name`. Keys are case-sensitive.
    /// Inside a key, `\.` is a dot and `\\` a backslash. An array on the path stands for all its elements.
    public let path: String

    /// How the values are stored.
    public let kind: Kind

    /// Creates an index on `path`.
    public init(_ path: String, _ kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
