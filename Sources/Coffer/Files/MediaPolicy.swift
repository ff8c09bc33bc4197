import CofferBase
import CofferEngine
import SystemPackage

/// Sealed files stay on media of this machine, unless the owner wants it otherwise: what can be pulled out or
/// is on another machine gets into other hands, together with the device key.
enum MediaPolicy {
    /// Its presence in a vault says that the vault was made to be on such a medium.
    private static let marker: FilePath = "external"

    /// Refuses a directory on a removable medium or on the network.
    static func check(_ directory: borrowing Descriptor) throws(CofferError) {
        let what: String
        switch try StorageMedium.of(directory).medium {
        case .removable: what = "a removable medium"
        case .network: what = "a network file system"
        case .fixed, .memory, .unknown: return
        }
        throw CofferError(
            .refused, "\(directory.path) is on \(what): refused unless external media are allowed.")
    }

    /// The same for a vault's directory, unless it was made for that.
    static func checkVault(_ vault: borrowing Descriptor) throws(CofferError) {
        guard try vault.status(of: marker) == nil else { return }
        try check(vault)
    }

    /// Records in a new vault that it may be on such a medium.
    static func allow(in vault: borrowing Descriptor) throws(CofferError) {
        _ = try vault.open(marker, [.readWrite, .exclusive])
    }
}
