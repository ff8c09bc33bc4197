import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// The in-memory directories that hold view copies and that only this user can access.
///
/// The root is `$XDG_RUNTIME_DIR/coffer/views` if that directory is on an in-memory file system; otherwise,
/// it is `/dev/shm/coffer-` followed by a random name that the vault stores. Layout: `<view>/lease` and
/// `<view>/<directory>/<original name>`. A viewing process holds a lock on `lease`, which the kernel drops
/// when the process dies.
enum ViewCopyDirectory {
    private static let leaseName: FilePath = "lease"
    private static let sharedMemory: FilePath = "/dev/shm"
    /// The name prefix of a view directory that is being created. The directory gets its lease before it
    /// loses the prefix.
    static let newPrefix = ".new-"

    /// Returns the root for a new view. A root that other processes would otherwise not find is first
    /// recorded in the vault.
    static func preferred(vault: borrowing Descriptor) throws(CofferError) -> Descriptor {
        var record = ViewRootRecord(in: vault)
        if let path = runtimePath, let runtime = try? runtimeRoot(path, creating: true) {
            if path != systemRuntime {
                try record.note(runtime: path, in: vault) { (try? runtimeRoot($0, creating: false)) == nil }
            }
            return runtime
        }
        if let name = record.shared, let root = try? sharedMemoryRoot(name, creating: true) { return root }
        let name = try "coffer-" + HexText.encode(SecureRandom.bytes(16))
        try ViewRootRecord.note(shared: name, in: vault)
        return try sharedMemoryRoot(FilePath(name), creating: true)
    }

    /// Returns every root that may hold a vault's views, and the names of the roots that could not be
    /// examined, with the reasons. For a wipe, this method examines every name in /dev/shm that a vault may
    /// have chosen, and includes this user's directories that other users can read.
    static func existing(
        _ record: ViewRootRecord, isForWiping: Bool = false
    ) -> (roots: [Root], unseen: [(name: String, reason: CofferError)]) {
        var roots: [Root] = []
        var unseen: [(name: String, reason: CofferError)] = []
        var paths = record.runtimes
        for path in [runtimePath, systemRuntime].compactMap({ $0 }) where !paths.contains(path) {
            paths.append(path)
        }
        for path in paths {
            do throws(CofferError) {
                let root = try runtimeRoot(path, creating: false, isForWiping: isForWiping)
                if let root { roots.append(try Root(root)) }
            } catch {
                // Do not report a directory in which no view was ever made.
                if record.runtimes.contains(path) || hasViews(path) { unseen.append(("\(path)", error)) }
            }
        }
        for name in sharedNames(record, all: isForWiping) {
            do throws(CofferError) {
                let root = try sharedMemoryRoot(name, creating: false, isForWiping: isForWiping)
                roots.append(try Root(root))
            } catch {
                let path = sharedMemory.pushing(name)
                if error.code != .absent, isOwn(path) { unseen.append(("\(path)", error)) }
            }
        }
        return (roots.reduce(into: []) { all, root in if !all.contains(root) { all.append(root) } }, unseen)
    }

    /// Returns whether views may have been made in `path`, if that is this user's runtime directory.
    private static func hasViews(_ path: FilePath) -> Bool {
        guard isOwn(path), let runtime = try? Descriptor.open(path, [.read, .directory]) else { return false }
        return (try? runtime.status(of: "coffer")) != nil
    }

    private static func isOwn(_ path: FilePath) -> Bool {
        guard let name = path.lastComponent,
            let parent = try? Descriptor.open(path.removingLastComponent(), [.read, .directory])
        else { return false }
        return (try? parent.status(of: FilePath(root: nil, [name])))?.isOwn ?? false
    }

    /// Returns the vault's own name under /dev/shm, or, if `all` is `true`, every name of that form.
    private static func sharedNames(_ record: ViewRootRecord, all: Bool) -> [FilePath] {
        guard all, let shared = try? Descriptor.open(sharedMemory, [.read, .directory]) else {
            return record.shared.map { [$0] } ?? []
        }
        let names = (try? shared.names()) ?? []
        return names.filter { ViewRootRecord.isShared(FileNameBytes.of($0)) }
    }

    /// An open root directory.
    final class Root: Sendable, Equatable {
        let directory: Descriptor
        private let status: FileStatus

        init(_ directory: consuming Descriptor) throws(CofferError) {
            status = try directory.status()
            self.directory = directory
        }

        static func == (one: Root, other: Root) -> Bool { one.status.isSameFile(as: other.status) }
    }

    /// `$XDG_RUNTIME_DIR`, if it is an absolute path.
    private static var runtimePath: FilePath? {
        Environment.path("XDG_RUNTIME_DIR").flatMap { $0.isAbsolute ? $0 : nil }
    }

    /// The runtime directory that logind creates, regardless of the environment.
    private static var systemRuntime: FilePath { FilePath("/run/user/\(Environment.userID)") }

    static var hasRuntimeDirectory: Bool {
        guard let path = runtimePath, let directory = try? Descriptor.open(path, [.read, .directory])
        else { return false }
        do throws(CofferError) {
            try check(directory)
            return true
        } catch {
            return false
        }
    }

    static var hasSharedMemory: Bool {
        guard let shared = try? Descriptor.open(sharedMemory, [.read, .directory]) else { return false }
        return (try? FileSystemInfo.of(shared).isMemory) ?? false
    }

    /// Removes the views whose owning processes have died, and returns the number of removed views. If a view
    /// cannot be removed, this method removes the others and then throws the first error.
    static func removeStale(vault: borrowing Descriptor) throws(CofferError) -> Int {
        var count = 0
        var failure: CofferError?
        for root in existing(ViewRootRecord(in: vault)).roots {
            for name in (try? root.directory.names()) ?? [] where isOfView(name) {
                do throws(CofferError) {
                    guard try isDead(name, in: root.directory) else { continue }
                    if let error = root.directory.removeAll(of: name, overwriting: true).first { throw error }
                    count += 1
                } catch {
                    failure = failure ?? error
                }
            }
            if count > 0 { removeIfEmpty(root.directory) }
        }
        if let failure { throw failure }
        return count
    }

    /// Returns whether a name has the form of a view directory's name, including a view that is still being
    /// created.
    private static func isOfView(_ name: FilePath) -> Bool {
        ViewRootRecord.isView(name) || name.string.utf8.hasPrefix(newPrefix)
    }

    /// Removes a vault's own root under /dev/shm if it is empty. The next view creates it again.
    static func removeIfEmpty(_ root: borrowing Descriptor) {
        guard root.path.removingLastComponent() == sharedMemory, let name = root.path.lastComponent,
            let shared = try? Descriptor.open(sharedMemory, [.read, .directory])
        else { return }
        _ = try? shared.removeDirectory(FilePath(root: nil, [name]))
    }

    static func isDead(_ name: FilePath, in root: borrowing Descriptor) throws(CofferError) -> Bool {
        let status = try root.status(of: name)
        guard let status, status.kind == .directory else { return false }
        let isOld = Clock.wall.nanoseconds - status.modified > 60_000_000_000
        // The view is being created: trying to lock the lease could make its owner's own locking fail.
        if name.string.utf8.hasPrefix(newPrefix), !isOld { return false }
        guard let view = try? root.open(name, [.read, .directory]),
            let lease = try? view.open(leaseName, .readWrite)
        else {
            // A view without a lease is being created, or its removal was interrupted.
            return isOld || !name.string.utf8.hasPrefix(newPrefix)
        }
        return try FileLock.tryAcquire(lease) != nil
    }

    static func owner(of name: FilePath, in root: borrowing Descriptor) throws(CofferError)
        -> VaultID?
    {
        guard let view = try? root.open(name, [.read, .directory]),
            let lease = try? view.open(leaseName, .read),
            let bytes = try? lease.readAll(limit: 16)
        else { return nil }
        return VaultID(bytes: bytes)
    }

    /// Creates a view directory, whose lease is held until the result is released.
    static func makeView(
        in root: borrowing Descriptor, vaultID: VaultID
    ) throws(CofferError) -> NewView {
        let unique = try HexText.encode(SecureRandom.bytes(16))
        let new = FilePath(newPrefix + unique)
        try root.makeDirectory(new)
        do throws(CofferError) {
            return try fill(new, thenNamed: FilePath(unique), in: root, vaultID: vaultID)
        } catch {
            for name in [new, FilePath(unique)] {
                _ = try? root.open(name, [.read, .directory]).remove(leaseName)
                _ = try? root.removeDirectory(name)
            }
            throw error
        }
    }

    private static func fill(
        _ new: FilePath, thenNamed unique: FilePath, in root: borrowing Descriptor, vaultID: VaultID
    ) throws(CofferError) -> NewView {
        let directory = try root.open(new, [.read, .directory])
        let lease = try directory.open(leaseName, [.readWrite, .exclusive])
        let owner = vaultID.bytes
        try lease.write(owner.span, at: 0)
        try lease.lock()
        try root.renameWithoutReplacing(new, to: unique)
        let opened = try root.open(unique, [.read, .directory])
        return NewView(name: unique, directory: opened, lease: lease)
    }

    /// Opens the file whose lock prevents the removal of a view.
    static func openLease(in view: borrowing Descriptor) throws(CofferError) -> Descriptor {
        try view.open(leaseName, .readWrite)
    }

    /// A view directory whose lease is held while `lease` is open.
    struct NewView: ~Copyable {
        let name: FilePath
        let directory: Descriptor
        let lease: Descriptor
    }

    /// A root and the view that was created in it.
    struct ViewDirectory: ~Copyable {
        let root: Descriptor
        let view: NewView
    }

    /// Returns the root in a runtime directory; `nil` if there is none and `creating` is false.
    private static func runtimeRoot(
        _ path: FilePath, creating: Bool, isForWiping: Bool = false
    ) throws(CofferError) -> Descriptor? {
        var directory = try Descriptor.open(path, [.read, .directory])
        try check(directory, isForWiping: isForWiping)
        for name: FilePath in ["coffer", "views"] {
            if try directory.status(of: name) == nil {
                guard creating else { return nil }
                try? directory.makeDirectory(name)
            }
            directory = try open(name, in: directory, isForWiping: isForWiping)
        }
        return directory
    }

    private static func open(
        _ name: FilePath, in parent: borrowing Descriptor, isForWiping: Bool
    ) throws(CofferError) -> Descriptor {
        let directory =
            isForWiping ? try parent.openClosed(name) : try parent.open(name, [.read, .directory])
        try check(directory, isForWiping: isForWiping)
        return directory
    }

    private static func sharedMemoryRoot(
        _ name: FilePath, creating: Bool, isForWiping: Bool = false
    ) throws(CofferError) -> Descriptor {
        let shared: Descriptor
        do throws(CofferError) {
            shared = try Descriptor.open(sharedMemory, [.read, .directory])
        } catch {
            throw noMemory
        }
        guard try FileSystemInfo.of(shared).isMemory else { throw noMemory }
        let isNew = try shared.status(of: name) == nil && creating
        if isNew { try shared.makeDirectory(name) }
        do throws(CofferError) {
            return try open(name, in: shared, isForWiping: isForWiping)
        } catch {
            if isNew { _ = try? shared.removeDirectory(name) }
            throw error
        }
    }

    private static var noMemory: CofferError {
        CofferError(
            .unsupported,
            "The copy requires a directory on an in-memory file system such as /dev/shm, but no suitable "
                + "directory is available.",
            remedy: .viewByDescriptor)
    }

    /// Throws an error unless the directory belongs to this user, only this user can access it, and it is in
    /// memory. An attacker may control any other directory. A wipe also accepts directories that other users
    /// can read, but not directories that they can write to.
    private static func check(
        _ directory: borrowing Descriptor, isForWiping: Bool = false
    ) throws(CofferError) {
        let status = try directory.status()
        let forbidden: UInt32 = isForWiping ? 0o022 : 0o077
        guard status.isOwn, status.permissions & forbidden == 0, try FileSystemInfo.of(directory).isMemory
        else {
            throw CofferError(
                .refused,
                "\(directory.path) must be on an in-memory file system, belong to this user, and not be "
                    + "accessible to other users.")
        }
    }
}
