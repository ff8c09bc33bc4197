public import Coffer
public import CofferBase

extension Vault {
    /// Gives the databases and the soup stores of this vault another protection class. A database that is
    /// open keeps its class until it is opened again.
    ///
    /// As for tokens, a class that protects a database less requires the passcode, if one is set; see
    /// `TokenStore.reclassify(_:to:passcode:)`.
    ///
    /// - Parameters:
    ///   - protection: The new class.
    ///   - passcode: The vault's passcode, if the change requires it. It counts as an attempt to unlock.
    /// - Returns: The numbers of databases that changed and that already had the class, and the names of the
    ///   databases that kept another class, in the form `SCOPE/NAME`.
    /// - Throws: The errors of `TokenStore.reclassify(_:to:passcode:)`, except `absent`.
    public func reclassifyDatabases(
        to protection: ProtectionClass, passcode: Passcode? = nil
    ) async throws(CofferError) -> Reclassification<String> {
        try await tokens.reclassifyDatabaseKeys(to: protection, passcode: passcode)
    }
}
