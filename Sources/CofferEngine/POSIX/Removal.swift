package import CofferBase
import CLinux
import Glibc
package import SystemPackage

/// Functions that remove files and directories with unexpected modes or of unexpected kinds.
extension Descriptor {
    /// The maximum number of errors that one removal reports.
    private static let maxErrorCount = 8

    /// Opens the directory `name`, even if its mode forbids this, and grants the directory's owner all
    /// permissions.
    ///
    /// Does not follow a link. Throws any error that ``open(_:_:)`` throws.
    package func openClosed(_ name: FilePath) throws(CofferError) -> Descriptor {
        let directory: Descriptor
        do throws(CofferError) {
            directory = try open(name, [.read, .directory])
        } catch {
            guard error.code == .permissionDenied, permitOwner(name, 0o700) else { throw error }
            directory = try open(name, [.read, .directory])
        }
        let status = try directory.status()
        if status.isOwn, status.permissions & 0o700 != 0o700 { try? directory.setPermissions(0o700) }
        return directory
    }

    /// Opens the directory `name`. Does not follow a link.
    ///
    /// - Throws: `refused` if a file system or another directory is mounted there.
    package func openUnlessMounted(_ name: FilePath) throws(CofferError) -> Descriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let base = raw
        let number = unsafe name.withPlatformString { name in
            Errno.uninterrupted { unsafe clinux_openat_unless_mounted(base, name, flags) }
        }
        let shown = path.pushing(name)
        guard number < 0 else { return Descriptor(raw: number, path: shown) }
        switch Errno.current {
        case EXDEV: throw Self.mounted(shown)
        case ENOSYS, EPERM:
            // An old kernel, or a container that forbids the call. This finds other file systems only.
            let directory = try open(name, [.read, .directory])
            guard try directory.status().device == status().device else { throw Self.mounted(shown) }
            return directory
        default: throw Errno.failure("open", shown)
        }
    }

    private static func mounted(_ path: FilePath) -> CofferError {
        CofferError(.refused, "\(path) is the root of a mount, so its content was not removed.")
    }

    /// Sets the permissions of an entry that belongs to this user. Does not follow a link. Returns whether
    /// the permissions were set.
    package func permitOwner(_ name: FilePath, _ bits: UInt32) -> Bool {
        guard let status = try? status(of: name), status.isOwn, status.kind != .symbolicLink else {
            return false
        }
        return unsafe name.withPlatformString { unsafe fchmodat(raw, $0, bits, AT_SYMLINK_NOFOLLOW) } == 0
    }

    /// Removes as much as possible of `name` and of its contents. Continues after failures and does not
    /// follow links.
    ///
    /// - Parameters:
    ///   - name: The entry to remove.
    ///   - overwriting: Whether to fill regular files with zeros first.
    ///   - crossingMounts: Whether to remove the contents of what is mounted there, too.
    /// - Returns: The first errors, at most eight; empty if everything was removed.
    package func removeAll(
        of name: FilePath, overwriting: Bool = false, crossingMounts: Bool = true
    ) -> [CofferError] {
        var errors: [CofferError] = []
        removeAll(of: name, overwriting: overwriting, crossingMounts: crossingMounts, &errors)
        return errors
    }

    private func removeAll(
        of name: FilePath, overwriting: Bool, crossingMounts: Bool, _ errors: inout [CofferError]
    ) {
        func note(_ error: CofferError) {
            guard error.code != .absent, errors.count < Self.maxErrorCount else { return }
            errors.append(error)
        }
        do throws(CofferError) {
            guard let status = try status(of: name) else { return }
            guard status.kind == .directory else {
                // A file that could not be overwritten is still removed.
                if overwriting, status.kind == .regular { try? overwrite(name) }
                try remove(name)
                return
            }
            do throws(CofferError) {
                let directory = try openForRemoval(name, crossingMounts: crossingMounts)
                for entry in try directory.names() {
                    directory.removeAll(
                        of: entry, overwriting: overwriting, crossingMounts: crossingMounts, &errors)
                }
            } catch {
                note(error)
            }
            try removeDirectory(name)
        } catch {
            note(error)
        }
    }

    private func openForRemoval(
        _ name: FilePath, crossingMounts: Bool
    ) throws(CofferError) -> Descriptor {
        if crossingMounts { return try openClosed(name) }
        return try openUnlessMounted(name)
    }
}
