public import CofferBase
public import CofferVault

extension Vault {
    /// Removes view copies whose process has ended; returns how many it removed. Opening a vault also does
    /// this.
    ///
    /// - Throws: `notInitialised`, `wiped`, or the underlying error if a copy cannot be removed.
    public static func removeStaleViewCopies(at location: VaultLocation) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try VaultDirectory.openDirectory(location).openVault()
            return try ViewCopyDirectory.removeStale(vault: vault)
        }
    }
}
