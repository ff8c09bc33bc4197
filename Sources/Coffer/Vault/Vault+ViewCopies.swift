public import CofferBase
public import CofferVault

extension Vault {
    /// Removes view copies whose process has ended. Opening a vault also removes such copies.
    ///
    /// - Parameter location: The vault's directory.
    /// - Returns: The number of view copies that were removed.
    /// - Throws: `notInitialised` if there is no vault; `wiped` if the vault was wiped; otherwise, the
    ///   underlying error if a view copy cannot be removed.
    public static func removeStaleViewCopies(at location: VaultLocation) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try VaultDirectory.openDirectory(location).openVault()
            return try ViewCopyDirectory.removeStale(vault: vault)
        }
    }
}
