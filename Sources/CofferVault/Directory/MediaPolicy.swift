package import CofferBase
package import CofferEngine
package import SystemPackage

/// The rule that vaults and sealed files must be on this machine's fixed media, unless the owner allows
/// external media, and on an encrypted disk, if the owner requires one. Other people may gain access to a
/// removable or remote medium, or to a disk that is not encrypted, and to a device key stored on it.
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

    /// Throws `refused` unless the storage that holds the directory is known to be encrypted.
    package static func checkEncryption(of directory: borrowing Descriptor) throws(CofferError) {
        try checkEncryption(of: StorageMedium.of(directory), at: directory.path)
    }

    /// Throws `refused` unless the storage is known to be encrypted; the message states the reason. Memory
    /// counts as not encrypted, because its content may be written to swap.
    package static func checkEncryption(of storage: StorageMedium, at path: FilePath) throws(CofferError) {
        guard storage.isEncrypted != true else { return }
        let reason =
            switch (storage.medium, storage.isEncrypted) {
            case (.memory, _): "is in memory, not on an encrypted disk"
            case (_, false?): "is on a disk that is not encrypted"
            case (.network, _): "is on a network file system, whose encryption is unknown"
            case (_, _): "is on a disk whose encryption is unknown"
            }
        throw CofferError(
            .refused,
            "\(path) \(reason): use a disk that dm-crypt or fscrypt encrypts, or do not require disk "
                + "encryption.")
    }

    /// Records in a new vault that external media are allowed.
    package static func allow(in vault: borrowing Descriptor) throws(CofferError) {
        _ = try vault.open(marker, [.readWrite, .exclusive])
    }
}
