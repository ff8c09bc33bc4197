/// The result of a revocation, as ``VaultEvent/Kind/revocationProcessed`` reports it.
public enum RevocationResult: String, Sendable, CaseIterable {
    /// The account's tokens and namespace were erased.
    case accountWiped
    /// The vault and every namespace in it were erased.
    case vaultWiped
    /// Every key was evicted.
    case locked
    /// The policy left the response to the program.
    case kept
    /// A signed command was carried out.
    case carriedOut
    /// Processing failed; the thrown error states the reason.
    case failed
}
