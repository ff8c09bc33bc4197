package import CofferBase
import Glibc
import CLinux
import SystemPackage

/// The properties of the file system that contains an open file or directory.
package struct FileSystemInfo: Sendable {
    /// Whether the files are in memory (tmpfs or ramfs).
    package let isMemory: Bool
    /// Whether the file system is of a common network file system's type.
    package let isNetwork: Bool
    /// Whether the mount is read-only.
    package let isReadOnly: Bool
    /// The number of bytes available to this user.
    package let available: Int64

    package static func of(_ descriptor: borrowing Descriptor) throws(CofferError) -> FileSystemInfo {
        var info = statfs()
        guard unsafe fstatfs(descriptor.raw, &info) == 0 else {
            throw Errno.failure("examine the file system of", descriptor.path)
        }
        return FileSystemInfo(
            isMemory: info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC,
            isNetwork: networkMagics.contains(UInt32(truncatingIfNeeded: info.f_type)),
            isReadOnly: info.f_flags & CLong(ST_RDONLY) != 0,
            available: Int64(clamping: info.f_bavail) * Int64(info.f_bsize))
    }

    /// The magic numbers of NFS, SMB, SMB2, CIFS, Coda, AFS (both), Ceph and NCP. The kernel's headers do not
    /// define all of them.
    private static let networkMagics: Set<UInt32> = [
        0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x7375_7245, 0x5346_414f, 0x6b41_4653, 0x00c3_6400, 0x564c,
    ]

    /// Reports whether the kernel may write memory to a swap device from which the memory could be read
    /// later. Such a device is neither in memory (zram) nor encrypted (dm-crypt).
    package static func isSwapActive() -> Bool {
        guard let table = ProcFile.read("/proc/swaps") else {
            // Without /proc only the amount of swap is known, not its kind.
            return systemInformation().map { $0.totalswap > 0 } ?? true
        }
        return readableSwap(table) { BlockDevice.named($0)?.isEncrypted ?? false }
    }

    /// Reports whether the text of `/proc/swaps` lists a swap device from which memory could be read later.
    package static func readableSwap(_ table: String, isEncrypted: (String) -> Bool) -> Bool {
        table.parts(between: "\n").dropFirst().contains { line in
            guard let path = line.parts(between: " ").first else { return false }
            let name = path.parts(between: "/").last ?? ""
            if name.utf8.hasPrefix("zram") { return false }
            return !(name.utf8.hasPrefix("dm-") && isEncrypted(name))
        }
    }

    /// Returns the number of bytes of memory that programs can still allocate without swapping, or `nil` if
    /// the kernel does not report this number.
    package static func availableMemory() -> Int64? {
        if let table = ProcFile.read("/proc/meminfo") { return availableMemory(in: table) }
        return systemInformation().map { Int64(clamping: $0.freeram) * Int64($0.mem_unit) }
    }

    private static func systemInformation() -> sysinfo? {
        var information = sysinfo()
        return unsafe sysinfo(&information) == 0 ? information : nil
    }

    /// Returns the number of bytes of available memory according to the text of `/proc/meminfo`, or `nil` if
    /// the text does not contain it.
    package static func availableMemory(in table: String) -> Int64? {
        for line in table.parts(between: "\n") where line.utf8.hasPrefix("MemAvailable:") {
            let words = line.parts(between: " ")
            guard words.count == 3, words[2] == "kB", let number = Int64(words[1]) else { return nil }
            return number.multipliedReportingOverflow(by: 1024).overflow ? nil : number * 1024
        }
        return nil
    }
}
