/// A report on a replacement of the keys of a vault's databases.
public struct DatabaseRotationReport: Sendable, Equatable {
    /// A database that kept its key.
    public struct Kept: Sendable, Equatable {
        /// The database's name in the form `SCOPE/NAME`.
        public let name: String
        /// The reason.
        public let reason: KeptDatabaseKeyReason
    }

    /// The names of the databases that have new keys, in the form `SCOPE/NAME`.
    public internal(set) var replaced: [String] = []
    /// The databases that kept their keys, so that an older copy of the vault opens their later content.
    public internal(set) var kept: [Kept] = []
}
