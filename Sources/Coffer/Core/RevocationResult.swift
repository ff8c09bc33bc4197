/// The result of a revocation, as ``VaultEvent/Kind/revocationProcessed`` reports it.
public enum RevocationResult: String, Sendable, CaseIterable {
    /// The tokens and the namespace of the account were erased.
    case accountWiped
    /// The vault was erased, with every namespace in it.
    case vaultWiped
    /// Every key was evicted.
    case locked
    /// The policy left the response to the program.
    case kept
    /// A signed command was carried out.
    case carriedOut
    /// Processing failed; the thrown error contains the reason.
    case failed
}
