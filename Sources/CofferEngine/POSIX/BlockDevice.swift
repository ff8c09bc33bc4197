import CofferBase
import Glibc
package import SystemPackage

/// What sysfs says of a block device and of those below it.
package struct BlockDevice: Sendable, Equatable {
    /// Whether it, or one below it, can be pulled out: marked removable, on USB, or an SD card.
    package private(set) var isRemovable = false
    /// Whether it, or every one below it, is encrypted by dm-crypt.
    package private(set) var isEncrypted = false

    private static let deepest = 8

    /// A disk that stays where it is and is not encrypted.
    package init() {}

    /// The device of that number, `major:minor`, below `system`, which is /sys but in tests; `nil` when there
    /// is none.
    package static func find(_ number: String, system: FilePath = "/sys") -> BlockDevice? {
        guard !number.utf8.contains(UInt8(ascii: "/")) else { return nil }
        return look(system.appending("dev").appending("block").appending(number), depth: 0)
    }

    private static func look(_ link: FilePath, depth: Int) -> BlockDevice? {
        guard depth < deepest, var path = resolved(link) else { return nil }
        var device = BlockDevice()
        let parts = path.components.map(\.string)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        device.isRemovable = parts.contains {
            $0.utf8.hasPrefix("usb") && $0.utf8.dropFirst(3).first.map(digits.contains) == true
        }
        // A partition is described by its disk.
        if ProcFile.read(path.appending("partition")) != nil { path.removeLastComponent() }
        if ProcFile.read(path.appending("removable")) == "1" { device.isRemovable = true }
        if ProcFile.read(path.appending("device").appending("type")) == "SD" { device.isRemovable = true }
        let isCrypt =
            ProcFile.read(path.appending("dm").appending("uuid"))?.utf8.hasPrefix("CRYPT-") ?? false
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
        return names.compactMap { look(slaves.pushing($0), depth: depth + 1) }
    }

    /// Without symbolic links, which in sysfs say where a device hangs.
    private static func resolved(_ path: FilePath) -> FilePath? {
        guard let text = unsafe path.withPlatformString({ unsafe realpath($0, nil) }) else { return nil }
        defer { unsafe free(text) }
        return unsafe FilePath(platformString: text)
    }
}
