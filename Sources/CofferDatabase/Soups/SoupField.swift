public import CofferBase

/// The names of the fields that every soup has in addition to its index paths.
enum SoupField {
    static let document = "_soup"
    static let entryID = "_soupEntryId"
    static let created = "_soupCreatedDate"
    static let lastModified = "_soupLastModifiedDate"
    static let lastViewed = "_soupLastViewedDate"
    static let fullText = "_fullText"

    /// The fields that are columns of every soup.
    static let columns: Set<String> = [document, entryID, created, lastModified, lastViewed]
}

extension JSONValue {
    /// The id of this document in its soup.
    public var soupEntryID: Int64? { self[SoupField.entryID]?.integer }

    /// The date when a soup last changed this document, in milliseconds since 1970.
    public var soupLastModifiedDate: Int64? { self[SoupField.lastModified]?.integer }

    /// The date when this document was inserted into its soup, in milliseconds since 1970.
    public var soupCreatedDate: Int64? { self[SoupField.created]?.integer }
}
