import CofferBase
import CofferEngine
import SystemPackage

/// A summary of the unfinished files that interrupted operations left in the store's directory and that no
/// process is working on.
struct FileRemains: Equatable {
    var count = 0
    var bytes: Int64 = 0
    /// Entries that have the name of a file, finished or not, but that another program put there.
    var others: [FilePath] = []
}

extension FileStore {
    /// Returns a summary of the abandoned unfinished files in the directory, without changing anything.
    func remains() throws(CofferError) -> FileRemains {
        let directory = try openDirectory()
        var remains = FileRemains()
        remains.others = try directory.entries().compactMap { entry in
            !entry.isRegular && FileID(fileName: entry.name) != nil ? entry.name : nil
        }
        guard try !directory.temporaries().isEmpty else { return remains }
        // A process that starts a file creates and locks it under the vault directory's lock, so an unlocked
        // file has no owner.
        try core.home.withExclusiveVault { (_) throws(CofferError) in
            for name in try directory.temporaries() {
                guard let status = try directory.status(of: name) else { continue }
                guard Self.isUnfinished(status) else {
                    remains.others.append(name)
                    continue
                }
                guard try isAbandoned(name, directory) else { continue }
                remains.count += 1
                remains.bytes += status.size
            }
        }
        return remains
    }

    /// Returns whether no process is working on an unfinished file. A file that this user cannot read counts
    /// as abandoned, because Coffer never creates such a file.
    private func isAbandoned(
        _ name: FilePath, _ directory: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        do throws(CofferError) {
            return try FileLock.tryAcquire(directory.open(name, .read)) != nil
        } catch {
            guard error.code == .permissionDenied else { throw error }
            return true
        }
    }

    /// Returns whether an entry with a temporary name can be an unfinished file.
    private static func isUnfinished(_ status: FileStatus) -> Bool { status.kind == .regular && status.isOwn }

    /// Returns the names of unfinished files.
    static func unfinished(in directory: borrowing Descriptor) throws(CofferError) -> [FilePath] {
        var names: [FilePath] = []
        for name in try directory.temporaries() {
            if let status = try directory.status(of: name), isUnfinished(status) { names.append(name) }
        }
        return names
    }

    /// Removes the abandoned unfinished files, and ignores any failure to do so. Leaves files that other
    /// processes are writing unchanged.
    func removeRemains() {
        do throws(CofferError) {
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try cleanUp(openDirectory(), in: vault)
            }
        } catch {
            // The next command tries again, and the status reports the remains.
        }
    }
}
