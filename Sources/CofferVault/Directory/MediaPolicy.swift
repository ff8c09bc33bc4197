package import CofferBase
package import CofferEngine
import SystemPackage

/// The rule that vaults and sealed files must be on this machine's fixed media, unless the owner allows
/// external media. Other people may gain access to a removable or remote medium and to a device key stored on
/// it.
package enum MediaPolicy {
    /// The name of an empty file that marks a vault created with external media allowed.
    private static let marker: FilePath = "external"

    /// Throws `refused` if the directory is on a removable medium or a network file system.
    package static func check(_ directory: borrowing Descriptor) throws(CofferError) {
        let name: String
        switch try StorageMedium.of(directory).medium {
        case .removable: name = "a removable medium"
        case .network: name = "a network file system"
        case .fixed, .memory, .unknown: return
        }
        throw CofferError(
            .refused, "\(directory.path) is on \(name). Use a fixed disk, or allow external media.")
    }

    /// Checks a vault's directory as ``check(_:)`` does, unless the vault was created with external media
    /// allowed.
    package static func checkVault(_ vault: borrowing Descriptor) throws(CofferError) {
        guard try vault.status(of: marker) == nil else { return }
        try check(vault)
    }

    /// Records in a new vault that external media are allowed.
    package static func allow(in vault: borrowing Descriptor) throws(CofferError) {
        _ = try vault.open(marker, [.readWrite, .exclusive])
    }
}
