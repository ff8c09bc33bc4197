package import CofferBase
package import CofferEngine
package import SystemPackage

/// The directory of one session-only database, which contains the database, SQLite's files beside it, and a
/// lease.
///
/// The process that has the database's key holds a lock on the lease, which the kernel drops when the process
/// dies. A directory whose lease is free belongs to a session that has ended; one without a lease belongs to
/// no session, and is removed only if it is empty. Each database gets a new random name, so a connection that
/// is still open after the end of its session meets no file of a later one.
package final class VolatileDatabaseDirectory: Sendable {
    private static let prefix = "volatile-"
    private static let identifierSize = 16
    private static let leaseName: FilePath = "lease"
    /// The maximum number of directories to create while other processes take them for remains.
    private static let maxAttemptCount = 8

    private let parent: Descriptor
    private let name: FilePath
    private let lease: FileLock

    /// The directory's path.
    package var path: FilePath { parent.path.pushing(name) }

    private init(parent: consuming Descriptor, name: FilePath, lease: consuming FileLock) {
        self.parent = parent
        self.name = name
        self.lease = lease
    }

    deinit { remove() }

    /// Removes the directory and everything in it. Ignores any failure, because the files are unreadable and
    /// the next opening of the vault tries again.
    package func remove() { Self.removeAll(of: name, in: parent) }

    /// Creates a directory that only its owner can access. It exists until the result is released.
    ///
    /// - Throws: `refused` if the directory of the vault's databases is a link or belongs to another user;
    ///   `readOnly`, `permissionDenied` or `noSpace`.
    package static func make(
        in vault: borrowing Descriptor
    ) throws(CofferError) -> VolatileDatabaseDirectory {
        for _ in 0..<maxAttemptCount {
            let parent = try makeParent(in: vault)
            let name = FilePath(prefix + HexText.encode(try SecureRandom.bytes(identifierSize)))
            try parent.makeDirectory(name)
            if let lease = try newLease(of: name, in: parent) {
                return VolatileDatabaseDirectory(parent: parent, name: name, lease: lease)
            }
        }
        throw CofferError(
            .busy, "Another process keeps removing new session-only databases. Try again later.")
    }

    /// Opens the directory of the vault's databases, and creates it if there is none.
    ///
    /// - Throws: `refused` if it is a link or belongs to another user; `readOnly`, `permissionDenied` or
    ///   `noSpace`.
    static func makeParent(in vault: borrowing Descriptor) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            try vault.makeDirectory(DatabaseKeyNaming.directory)
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
        let parent = try vault.open(DatabaseKeyNaming.directory, [.read, .directory])
        guard try parent.status().isOwn else {
            throw CofferError(
                .refused,
                "\(parent.path) belongs to another user, so no session-only database was created in it.")
        }
        return parent
    }

    /// Creates and locks the lease of a new directory. Returns `nil` if another process took the directory
    /// for remains, because it had no lease yet.
    private static func newLease(
        of name: FilePath, in parent: borrowing Descriptor
    ) throws(CofferError) -> FileLock? {
        do throws(CofferError) {
            let directory = try parent.open(name, [.read, .directory])
            let file = try directory.open(leaseName, [.readWrite, .create])
            let status = try file.status()
            guard let lease = try FileLock.tryAcquire(file) else { return nil }
            // The other process may have removed the file between the two calls.
            guard try directory.status(of: leaseName)?.isSameFile(as: status) == true else { return nil }
            return lease
        } catch {
            guard error.code != .absent else { return nil }
            removeAll(of: name, in: parent)
            throw error
        }
    }

    // MARK: What is left

    /// Removes the session-only databases whose sessions have ended, and ignores any failure to do so: the
    /// files are unreadable, and the next call tries again.
    package static func removeEnded(in vault: borrowing Descriptor) {
        do throws(CofferError) {
            let databases = try vault.open(DatabaseKeyNaming.directory, [.read, .directory])
            for name in try databases.names() where isOfDatabase(name) {
                try? removeIfEnded(name, in: databases)
            }
        } catch {
            // There are no databases, or the next call tries again.
        }
    }

    private static func removeIfEnded(
        _ name: FilePath, in databases: borrowing Descriptor
    ) throws(CofferError) {
        guard let status = try databases.status(of: name), status.kind == .directory, status.isOwn else {
            return
        }
        let directory = try databases.openUnlessMounted(name)
        guard try directory.status(of: leaseName)?.kind == .regular else {
            // A crash right after its creation can leave it empty. Anything else is not a session's.
            try databases.removeDirectory(name)
            return
        }
        guard let lease = try FileLock.tryAcquire(directory.open(leaseName, .readWrite)) else { return }
        defer { extendLifetime(lease) }
        removeAll(of: name, in: databases)
    }

    /// Removes a session's directory, and ignores any failure. Does not enter what is mounted in it. The
    /// lease is removed last, because the next call removes nothing without one.
    static func removeAll(of name: FilePath, in parent: borrowing Descriptor) {
        do throws(CofferError) {
            let directory = try parent.openUnlessMounted(name)
            var isEmpty = true
            for entry in try directory.names() where entry != leaseName {
                if !directory.removeAll(of: entry, crossingMounts: false).isEmpty { isEmpty = false }
            }
            guard isEmpty else { return }
            try directory.remove(leaseName)
            do throws(CofferError) {
                try parent.removeDirectory(name)
            } catch {
                // A connection that was still open has created a file in the meantime.
                _ = try directory.open(leaseName, [.readWrite, .create])
            }
        } catch {
            // The next call tries again.
        }
    }

    private static func isOfDatabase(_ name: FilePath) -> Bool {
        let text = name.string
        guard text.utf8.hasPrefix(prefix) else { return false }
        let identifier = String(decoding: text.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return HexText.decode(identifier, lowerCaseOnly: true)?.count == identifierSize
    }
}
