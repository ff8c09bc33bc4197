package import CofferBase
import CLinux
import Glibc
import SystemPackage

/// The medium on which a directory is stored.
package struct StorageMedium: Sendable, Equatable {
    package enum Medium: Sendable, Equatable { case fixed, memory, removable, network, unknown }

    /// The kind of medium on which the directory's files are stored.
    package let medium: Medium
    /// The file system's type, or an empty string if it is unknown.
    package let type: String
    /// Whether dm-crypt, fscrypt or the file system itself encrypts the storage, or `nil` if this is unknown.
    package let isEncrypted: Bool?

    package init(medium: Medium, type: String, isEncrypted: Bool?) {
        self.medium = medium
        self.type = type
        self.isEncrypted = isEncrypted
    }

    /// Returns the medium on which an open directory is stored.
    package static func of(_ directory: borrowing Descriptor) throws(CofferError) -> StorageMedium {
        let info = try FileSystemInfo.of(directory)
        if info.isMemory { return StorageMedium(medium: .memory, type: "tmpfs", isEncrypted: nil) }
        guard let mount = mount(of: directory) else {
            // Without /proc, only the device is known.
            let device = try BlockDevice.find(number(UInt(directory.status().device)))
            let medium: Medium = device.map { $0.isRemovable ? .removable : .fixed } ?? .unknown
            return StorageMedium(
                medium: info.isNetwork ? .network : medium, type: "",
                isEncrypted: hasFilePolicy(directory) ? true : device?.isEncrypted)
        }
        let device = BlockDevice.find(mount.device) ?? source(of: mount).flatMap { BlockDevice.find($0) }
        return of(
            mount, device: device, isNetwork: info.isNetwork, hasFilePolicy: hasFilePolicy(directory))
    }

    /// Returns the medium that the properties of the mount, the device and the directory describe.
    package static func of(
        _ mount: MountEntry, device: BlockDevice?, isNetwork: Bool, hasFilePolicy: Bool
    ) -> StorageMedium {
        let medium: Medium =
            mount.isNetwork || isNetwork
            ? .network : device.map { $0.isRemovable ? .removable : .fixed } ?? .unknown
        let isEncrypted = hasFilePolicy || mount.isEncrypting ? true : device?.isEncrypted
        return StorageMedium(medium: medium, type: mount.type, isEncrypted: isEncrypted)
    }

    private static func mount(of directory: borrowing Descriptor) -> MountEntry? {
        guard let text = ProcFile.read(FilePath("/proc/self/fdinfo/\(directory.raw)")),
            let line = text.parts(between: "\n").first(where: { $0.utf8.hasPrefix("mnt_id:") }),
            let id = line.parts(between: "\t").last.flatMap({ Int($0) }),
            let table = ProcFile.read("/proc/self/mountinfo")
        else { return nil }
        return MountEntry.find(id, in: table)
    }

    /// Returns the device number of the source from which a file system without its own device, such as
    /// btrfs, was mounted, or `nil` if there is none.
    private static func source(of mount: MountEntry) -> String? {
        guard let source = mount.sourceDevice else { return nil }
        var status = stat()
        guard unsafe stat(source, &status) == 0, status.st_mode & 0o170000 == 0o060000 else {
            return nil
        }
        return number(UInt(status.st_rdev))
    }

    private static func number(_ device: UInt) -> String { "\(clinux_major(device)):\(clinux_minor(device))" }

    /// Reports whether fscrypt encrypts new files in the directory.
    private static func hasFilePolicy(_ directory: borrowing Descriptor) -> Bool {
        var flags = 0
        return unsafe clinux_file_flags(directory.raw, &flags) == 0 && flags & 0x800 != 0  // FS_ENCRYPT_FL
    }
}
