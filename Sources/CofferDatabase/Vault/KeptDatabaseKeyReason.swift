import CofferBase

/// A reason for which a database keeps its key.
public enum KeptDatabaseKeyReason: String, Sendable, CaseIterable {
    /// A program uses the database, or replaced or removed it meanwhile.
    case inUse
    /// The database is damaged, its key is missing, or this user cannot read or write it.
    case unreadable
    /// The disk has no room for a second copy of the database.
    case noSpace

    /// Creates the reason for an error that concerns one database; `nil` for one that concerns all.
    init?(_ error: CofferError) {
        switch error.code {
        case .busy, .conflict, .absent: self = .inUse
        case .noSpace: self = .noSpace
        case .locked, .wiped, .cancelled, .outOfMemory, .unsupported, .policyInvalid: return nil
        default: self = .unreadable
        }
    }
}
