package import CofferBase
package import CofferCrypto
import CofferEngine
package import CofferVault
package import SystemPackage

/// Support for a file that a user keeps outside of the vault, such as the sheet of a recovery key.
package enum PrivateOutputFile {
    /// Creates a file that only this user can read, and that appears when it is complete.
    ///
    /// - Parameters:
    ///   - contents: What the file contains.
    ///   - path: The file's path.
    ///   - location: The vault, in whose directory the file must not be.
    /// - Throws: `alreadyExists` if the path exists; `refused` if it is in the vault's directory; `noSpace`
    ///   or another error of the file system.
    package static func create(
        _ contents: borrowing SecretBytes, at path: FilePath, outside location: VaultLocation
    ) throws(CofferError) {
        let home = try VaultDirectory.openDirectory(location)
        try contents.exposing { (bytes) throws(CofferError) in
            try AtomicFile.create(at: path, outside: home) { (file) throws(CofferError) in
                try file.write(bytes, at: 0)
            }
        }
    }
}
