package import CofferBase
package import CofferEngine
import SystemPackage

/// Keeps sealed files on media of this machine unless the owner allows others. A medium that can be removed
/// or is on another machine can fall into other hands, together with the device key.
package enum MediaPolicy {
    /// A vault that contains this file was created for such a medium.
    private static let marker: FilePath = "external"

    /// Throws `refused` for a directory on a removable medium or on the network.
    package static func check(_ directory: borrowing Descriptor) throws(CofferError) {
        let name: String
        switch try StorageMedium.of(directory).medium {
        case .removable: name = "a removable medium"
        case .network: name = "a network file system"
        case .fixed, .memory, .unknown: return
        }
        throw CofferError(
            .refused, "\(directory.path) is on \(name): refused unless external media are allowed.")
    }

    /// As ``check(_:)`` for a vault's directory, unless the vault was created for external media.
    package static func checkVault(_ vault: borrowing Descriptor) throws(CofferError) {
        guard try vault.status(of: marker) == nil else { return }
        try check(vault)
    }

    /// Records in a new vault that external media are allowed.
    package static func allow(in vault: borrowing Descriptor) throws(CofferError) {
        _ = try vault.open(marker, [.readWrite, .exclusive])
    }
}
