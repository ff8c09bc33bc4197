package import CofferBase
package import CofferEngine
package import SystemPackage

/// Atomic creation of files outside the vault: a file appears only when its content is complete and flushed
/// to disk.
package enum AtomicFile {
    /// Creates a file at `path`, readable only by this user, with the content that `fill` writes.
    ///
    /// If `replacing` is `true`, an existing regular file is replaced after the new content is complete.
    /// Otherwise, the function throws `alreadyExists` if the path exists. The function throws `refused` if
    /// the file would be in the vault directory `home` or in the vault directory that contains `home`, where
    /// its name could be that of one of the vault's own files. If `fill` throws an error, the function throws
    /// the same error and does not create or replace a file.
    package static func create<Result>(
        at path: FilePath, replacing: Bool = false, outside home: VaultDirectory,
        _ fill: (borrowing Descriptor) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        guard let name = path.lastComponent else {
            throw CofferError(
                .invalidInput,
                "The path \"\(path)\" does not end with a file name. Add the name of the new file.")
        }
        let target = FilePath(root: nil, [name])
        let parent = path.removingLastComponent()
        let directory = try open(parent)
        guard try !home.contains(directory) else { throw isInVault(path) }
        let former = try directory.status(of: target)
        if let former { try checkReplaceable(path, former, replacing) }
        let result: Result
        // Write to an unnamed file where the file system supports it, so that a crash during the work leaves
        // nothing readable.
        switch try directory.openUnnamed() {
        case .some(let file):
            lock(file)
            result = try fill(file)
            try file.sync()
            // Another process may have created the file meanwhile.
            let present = replacing ? try directory.status(of: target) : nil
            guard let present else {
                try directory.link(file, as: target)
                break
            }
            try checkReplaceable(path, present, replacing)
            // No system call replaces an existing file with an unnamed one. A crash before the rename leaves
            // the temporary name.
            let temporary = try Descriptor.temporaryName()
            do throws(CofferError) {
                try directory.link(file, as: temporary)
            } catch {
                throw notCreated(path, error)
            }
            try rename(temporary, to: target, in: directory, replacing: true)
        case .none:
            let temporary = try Descriptor.temporaryName()
            let file = try create(temporary, in: directory, for: path)
            lock(file)
            do throws(CofferError) {
                result = try fill(file)
                try file.sync()
            } catch {
                _ = try? directory.remove(temporary)
                throw error
            }
            try rename(temporary, to: target, in: directory, replacing: replacing)
        }
        try directory.sync()
        return result
    }

    /// Throws `refused` if a file at `path` would be in the vault directory `home` or in the one that
    /// contains `home`.
    package static func requireOutside(_ home: VaultDirectory, _ path: FilePath) throws(CofferError) {
        guard try !home.contains(open(path.removingLastComponent())) else { throw isInVault(path) }
    }

    /// Shows to others that the file is being written, until it is closed. They leave a file alone that they
    /// cannot lock, also where the file system locks none.
    private static func lock(_ file: borrowing Descriptor) { _ = try? file.tryLock() }

    /// Creates a file under its temporary name.
    private static func create(
        _ temporary: FilePath, in directory: borrowing Descriptor, for path: FilePath
    ) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try directory.open(temporary, [.readWrite, .exclusive])
        } catch {
            throw notCreated(path, error)
        }
    }

    /// Returns the error with the path that the caller asked for, instead of the temporary name.
    private static func notCreated(_ path: FilePath, _ error: CofferError) -> CofferError {
        error.systemError.map { Errno.failure("create", path, errno: $0) } ?? error
    }

    private static func isInVault(_ path: FilePath) -> CofferError {
        CofferError(
            .refused,
            "\(path) is in the vault's own directory, where no files can be exported. Choose a path outside "
                + "that directory.")
    }

    private static func checkReplaceable(
        _ path: FilePath, _ former: FileStatus, _ replacing: Bool
    ) throws(CofferError) {
        guard replacing else {
            throw CofferError(
                .alreadyExists, "\(path) already exists and was not replaced. Choose another path.")
        }
        guard former.kind == .regular else {
            throw CofferError(
                .refused, "\(path) is not a regular file and was not replaced. Choose another path.")
        }
    }

    /// Renames a complete file to its final name, or removes the file if renaming fails.
    private static func rename(
        _ temporary: FilePath, to target: FilePath, in directory: borrowing Descriptor, replacing: Bool
    ) throws(CofferError) {
        do throws(CofferError) {
            if replacing {
                try directory.rename(temporary, to: target)
            } else {
                try directory.renameWithoutReplacing(temporary, to: target)
            }
        } catch {
            _ = try? directory.remove(temporary)
            throw error
        }
    }

    private static func open(_ parent: FilePath) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .absent,
                "The directory \(parent) does not exist. Create the directory first, or choose another "
                    + "path.",
                systemError: error.systemError)
        }
    }
}
