package import CofferBase
import Glibc
import CLinux
import SystemPackage

/// What the mounted file system below a descriptor is.
package struct FileSystemInfo: Sendable {
    /// Whether files live in memory (tmpfs or ramfs).
    package let isMemory: Bool
    /// Whether the mount is read-only.
    package let isReadOnly: Bool
    /// Bytes free for this user.
    package let available: Int64

    package static func of(_ descriptor: borrowing Descriptor) throws(CofferError) -> FileSystemInfo {
        var info = statfs()
        guard unsafe fstatfs(descriptor.raw, &info) == 0 else {
            throw Errno.failure("look at the file system of", descriptor.path)
        }
        return FileSystemInfo(
            isMemory: info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC,
            isReadOnly: info.f_flags & CLong(ST_RDONLY) != 0,
            available: Int64(clamping: info.f_bavail) * Int64(info.f_bsize))
    }

    /// Whether memory may be written to a swap device.
    package static func isSwapActive() -> Bool {
        guard let file = try? Descriptor.open("/proc/swaps", .read) else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        var span = buffer.mutableSpan
        guard let count = try? file.read(at: 0, into: &span) else { return false }
        return buffer.prefix(count).count(where: { $0 == UInt8(ascii: "\n") }) > 1
    }
}
