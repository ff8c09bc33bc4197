package import CofferBase
import Glibc
package import SystemPackage

/// Removal of files and directories whose modes or kinds are not as they should be.
extension Descriptor {
    /// How many errors one removal tells of.
    private static let maxErrorCount = 8

    /// Opens the directory `name` for all that its owner may do with it, also where its mode forbids that.
    ///
    /// Follows no link. Throws as ``open(_:_:)``.
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

    /// Sets the permissions of an entry of this user; returns whether it could. Follows no link.
    package func permitOwner(_ name: FilePath, _ bits: UInt32) -> Bool {
        guard let status = try? status(of: name), status.isOwn, status.kind != .symbolicLink else {
            return false
        }
        return unsafe name.withPlatformString { unsafe fchmodat(raw, $0, bits, AT_SYMLINK_NOFOLLOW) } == 0
    }

    /// Removes what can be removed of `name`, and of everything in it: past what fails, following no link.
    ///
    /// - Parameters:
    ///   - name: What is removed.
    ///   - overwriting: Whether regular files are filled with zeros first.
    /// - Returns: What failed, the first few; nothing when all of it is gone.
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
                // What could not be overwritten is gone all the same once it is removed.
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
