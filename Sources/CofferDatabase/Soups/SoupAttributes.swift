/// The attributes of a soup.
public struct SoupAttributes: Sendable, Hashable {
    /// The soup's name.
    public let name: String
    /// Its indexes, in the order of registration.
    public let indexSpecs: [IndexSpec]
    /// When it was registered, in milliseconds since 1970.
    public let createdDate: Int64
    /// The number of its entries.
    public let entryCount: Int
    /// When an entry was last inserted or changed, in milliseconds since 1970; `nil` without entries.
    public let lastModifiedDate: Int64?
    /// Whether ``SoupStore/alterSoup(_:indexSpecs:)`` or ``SoupStore/reindexSoup(_:paths:)`` is running, or
    /// was interrupted and resumes when the store is next opened.
    public let isBeingAltered: Bool
}
