/// An indexed path in a soup's documents, by which the documents can be found.
public struct IndexSpec: Sendable, Hashable {
    /// The form in which the values at a path are stored.
    public enum Kind: String, Sendable, CaseIterable {
        /// Text, compared byte by byte. Every other value except `null` is stored as its JSON text.
        case string
        /// Whole numbers; fractions are truncated. `true` is stored as 1 and `false` as 0; every other value
        /// that is not a number is treated as missing.
        case integer
        /// Floating-point numbers. `true` is stored as 1 and `false` as 0; every other value that is not a
        /// number is treated as missing.
        case floating
        /// The words of every text and number at or below the path, which a query created with
        /// ``QuerySpec/match(_:path:orderPath:order:pageSize:)`` can find.
        case fullText
        /// The values that SQLite's JSON functions return. An index of this kind needs no space in the entry
        /// but does not look into arrays.
        case json1
    }

    /// The keys from the outermost to the innermost, separated by dots, such as `Owner.Name`. Keys are
    /// case-sensitive. Inside a key, `\.` stands for a dot and `\\` for a backslash. An array on the path
    /// stands for all its elements.
    public let path: String

    /// The form in which the values are stored.
    public let kind: Kind

    /// Creates the specification of an index on `path` that stores values in the form `kind`.
    public init(_ path: String, _ kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
