public import CofferBase
public import CofferVault

extension Vault {
    /// Removes view copies whose owner is dead; returns how many. Opening a vault does this too.
    ///
    /// - Throws: `notInitialised`, `wiped`, or the error that the removal fails with.
    public static func removeStaleViewCopies(at location: VaultLocation) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try VaultDirectory.openDirectory(location).openVault()
            return try ViewCopyDirectory.removeStale(vault: vault)
        }
    }
}
