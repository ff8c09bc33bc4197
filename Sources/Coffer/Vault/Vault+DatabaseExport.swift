package import CofferBase
import CofferVault
package import SystemPackage

extension Vault {
    /// Checks that a database of the vault may be written to a new file.
    ///
    /// - Parameter path: The new file's absolute path.
    /// - Throws: `refused` if the administrator's policy does not allow it, or if the path is in the vault's
    ///   directory; `absent` if the path's directory does not exist.
    package func requireDatabaseExport(to path: FilePath) throws(CofferError) {
        let policy = try core.managed.policy()
        try policy.require(.allowFileExport, toAllow: "exporting databases")
        try policy.requireOpenIn()
        try AtomicFile.requireOutside(core.home, path)
    }

    /// Checks that no lock and no wipe came since a copy of a database was begun. A wipe by another process
    /// counts, and a lock by another process if the keys came from the kernel keyring.
    ///
    /// - Parameter protection: The database's class.
    /// - Throws: `locked`, `wiped`.
    package func requireStillOpen(for protection: ProtectionClass) throws(CofferError) {
        core.evictExpiredKeys()
        guard let state = try core.home.state(), state.isAlive, core.home.belongsToThisVault(state) else {
            throw CofferError.wiped
        }
        guard hasKey(of: protection) else { throw CofferError.locked }
    }
}
