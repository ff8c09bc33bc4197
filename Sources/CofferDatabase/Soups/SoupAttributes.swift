/// The attributes of a soup.
public struct SoupAttributes: Sendable, Hashable {
    /// The soup's name.
    public let name: String
    /// The soup's indexes, in the order of registration.
    public let indexSpecs: [IndexSpec]
    /// The date when the soup was registered, in milliseconds since 1970.
    public let createdDate: Int64
    /// The number of entries in the soup.
    public let entryCount: Int
    /// The latest modification date among the soup's entries, in milliseconds since 1970; `nil` for an empty
    /// soup.
    public let lastModifiedDate: Int64?
    /// Whether ``SoupStore/alterSoup(_:indexSpecs:)`` or ``SoupStore/reindexSoup(_:paths:)`` is running, or
    /// was interrupted and resumes when the store is next opened.
    public let isBeingAltered: Bool
}
