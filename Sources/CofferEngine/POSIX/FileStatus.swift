package import CofferBase
import CLinux
import Glibc
package import SystemPackage

/// The result of `stat` for a file.
package struct FileStatus: Sendable, Equatable {
    package enum Kind: Sendable { case regular, directory, symbolicLink, socket, other }

    package let kind: Kind
    package let size: Int64
    package let device: UInt64
    package let inode: UInt64
    /// The number of names (hard links) that the file has.
    package let links: UInt64
    package let owner: UInt32
    /// The file's permission bits.
    package let permissions: UInt32
    /// The modification time, in nanoseconds since 1970.
    package let modified: Int64
    /// The time of the last change to the content or the status, in nanoseconds since 1970. No program can
    /// set this time.
    package let changed: Int64

    init(_ status: stat) {
        // S_IFMT and its values as numbers, because the names are ambiguous between CLinux and Glibc. The
        // `timespec` below belongs to the module of the two that the compiler saw first.
        kind =
            switch status.st_mode & 0o170000 {
            case 0o100000: .regular
            case 0o040000: .directory
            case 0o120000: .symbolicLink
            case 0o140000: .socket
            default: .other
            }
        size = Int64(status.st_size)
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        links = UInt64(status.st_nlink)
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }

    /// Returns the status of the entry at `path`, following links. Does not open the entry, because opening a
    /// pipe would let its writer begin.
    package static func at(_ path: FilePath) throws(CofferError) -> FileStatus {
        var status = stat()
        let result = unsafe path.withPlatformString { unsafe fstatat(AT_FDCWD, $0, &status, 0) }
        guard result == 0 else { throw Errno.failure("examine", path) }
        return FileStatus(status)
    }

    /// Whether the last change was so long ago that the next change will alter ``changed``. File systems
    /// record times in steps of a few milliseconds.
    package var isSettled: Bool {
        Clock.wall - .nanoseconds(changed) > .milliseconds(100)
    }

    /// Reports whether both values describe the same file.
    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }

    /// Whether the file belongs to the user on whose behalf this process acts.
    package var isOwn: Bool { owner == geteuid() }
}

extension Descriptor {
    /// Sets the file's modification time, in nanoseconds since 1970.
    package func setModified(_ nanoseconds: Int64) throws(CofferError) {
        let (seconds, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let times = [
            timespec(tv_sec: 0, tv_nsec: 0x3fff_fffe),  // UTIME_OMIT: the time of access stays
            timespec(
                tv_sec: Int(remainder < 0 ? seconds - 1 : seconds),
                tv_nsec: Int(remainder < 0 ? remainder + 1_000_000_000 : remainder)),
        ]
        guard unsafe futimens(raw, times) == 0 else {
            throw Errno.failure("set the modification time of", path)
        }
    }

    /// Returns the status of the open file.
    package func status() throws(CofferError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(raw, &status) == 0 else { throw Errno.failure("examine", path) }
        return FileStatus(status)
    }

    /// Returns the status of `name` in this directory, or `nil` if there is no such entry. Does not follow a
    /// symbolic link.
    package func status(of name: FilePath) throws(CofferError) -> FileStatus? {
        var status = stat()
        let result = unsafe name.withPlatformString { unsafe fstatat(raw, $0, &status, AT_SYMLINK_NOFOLLOW) }
        if result == 0 { return FileStatus(status) }
        guard Errno.current == ENOENT else { throw Errno.failure("examine", path.pushing(name)) }
        return nil
    }
}
