/// What is known of a soup.
public struct SoupAttributes: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// Its indexes, in the order of registration.
    public let indexSpecs: [IndexSpec]
    /// When it was registered, in milliseconds since 1970.
    public let createdDate: Int64
    /// How many entries it has.
    public let entryCount: Int
    /// When an entry was last put in or changed, in milliseconds since 1970; `nil` without entries.
    public let lastModifiedDate: Int64?
    /// Whether ``SoupStore/alterSoup(_:indexSpecs:)`` or ``SoupStore/reindexSoup(_:paths:)`` is at work, or
    /// was interrupted and goes on when the store is opened next.
    public let isBeingAltered: Bool
}
