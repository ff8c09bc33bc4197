import CofferBase
import Glibc
package import SystemPackage

/// The properties that sysfs reports for a block device and the devices below it.
package struct BlockDevice: Sendable, Equatable {
    /// Whether the device, or a device below it, is marked as removable, is attached by USB, or is an SD
    /// card.
    package private(set) var isRemovable = false
    /// Whether the device, or every device below it, is encrypted by dm-crypt.
    package private(set) var isEncrypted = false

    private static let deepest = 8
    /// The beginnings of the identifiers that cryptsetup gives to dm-crypt devices. It also gives identifiers
    /// that begin with `CRYPT-` to dm-integrity and dm-verity devices, which do not encrypt.
    private static let encryptingPrefixes = [
        "LUKS1-", "LUKS2-", "PLAIN-", "TCRYPT-", "BITLK-", "FVAULT2-", "LOOPAES-",
    ]
    .map { "CRYPT-" + $0 }

    /// Creates the description of a fixed disk that is not encrypted.
    package init() {}

    /// Returns the device with the number `number`, in the form `major:minor`, or `nil` if there is none.
    /// Searches below `system`, which is /sys except in tests.
    package static func find(_ number: String, system: FilePath = "/sys") -> BlockDevice? {
        guard !number.utf8.contains(UInt8(ascii: "/")) else { return nil }
        return device(at: system.appending("dev").appending("block").appending(number), depth: 0)
    }

    /// Returns the device with the name `name`, such as `dm-1`, or `nil` if there is none. Searches below
    /// `system`, which is /sys except in tests.
    package static func named(_ name: String, system: FilePath = "/sys") -> BlockDevice? {
        guard !name.utf8.contains(UInt8(ascii: "/")) else { return nil }
        return device(at: system.appending("block").appending(name), depth: 0)
    }

    private static func device(at link: FilePath, depth: Int) -> BlockDevice? {
        guard depth < deepest, var path = resolved(link) else { return nil }
        var device = BlockDevice()
        let parts = path.components.map(\.string)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        device.isRemovable = parts.contains {
            $0.utf8.hasPrefix("usb") && $0.utf8.dropFirst(3).first.map(digits.contains) == true
        }
        // For a partition, examine its disk, because sysfs describes the disk.
        if ProcFile.read(path.appending("partition")) != nil { path.removeLastComponent() }
        if ProcFile.read(path.appending("removable")) == "1" { device.isRemovable = true }
        if ProcFile.read(path.appending("device").appending("type")) == "SD" { device.isRemovable = true }
        let identifier = ProcFile.read(path.appending("dm").appending("uuid")) ?? ""
        let isCrypt = encryptingPrefixes.contains { identifier.utf8.hasPrefix($0) }
        let lower = below(path, depth)
        device.isRemovable = device.isRemovable || lower.contains(where: \.isRemovable)
        device.isEncrypted = isCrypt || !lower.isEmpty && lower.allSatisfy(\.isEncrypted)
        return device
    }

    private static func below(_ path: FilePath, _ depth: Int) -> [BlockDevice] {
        let slaves = path.appending("slaves")
        guard let directory = try? Descriptor.open(slaves, [.read, .directory]),
            let names = try? directory.names()
        else { return [] }
        return names.compactMap { device(at: slaves.pushing($0), depth: depth + 1) }
    }

    /// Resolves symbolic links, which in sysfs show where a device is attached.
    private static func resolved(_ path: FilePath) -> FilePath? {
        guard let text = unsafe path.withPlatformString({ unsafe realpath($0, nil) }) else { return nil }
        defer { unsafe free(text) }
        return unsafe FilePath(platformString: text)
    }
}
