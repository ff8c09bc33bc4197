package import CofferBase
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
    /// - Returns: The first errors, at most eight; empty if everything was removed.
    package func removeAll(of name: FilePath, overwriting: Bool = false) -> [CofferError] {
        var errors: [CofferError] = []
        removeAll(of: name, overwriting: overwriting, &errors)
        return errors
    }

    private func removeAll(of name: FilePath, overwriting: Bool, _ errors: inout [CofferError]) {
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
                let directory = try openClosed(name)
                for entry in try directory.names() {
                    directory.removeAll(of: entry, overwriting: overwriting, &errors)
                }
            } catch {
                note(error)
            }
            try removeDirectory(name)
        } catch {
            note(error)
        }
    }
}
