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
}
