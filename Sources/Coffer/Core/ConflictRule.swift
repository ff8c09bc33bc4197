/// The rule for an item of a backup that differs from the vault's item of the same name.
public enum ConflictRule: String, Sendable, CaseIterable {
    /// The vault's item stays as it is.
    case keep
    /// The backup's item replaces the vault's.
    case replace
    /// The vault's item stays, and the backup's gets another name.
    case both
}
