/// The result of a revocation, as ``VaultEvent/Kind/revocationProcessed`` reports it.
public enum RevocationResult: String, Sendable, CaseIterable {
    /// The tokens and the namespace of the account are erased.
    case accountWiped
    /// The vault is erased, with every namespace.
    case vaultWiped
    /// Every key was dropped.
    case locked
    /// The program was left to handle it.
    case kept
    /// A signed order was carried out.
    case carriedOut
    /// It failed: the error says why.
    case failed
}
