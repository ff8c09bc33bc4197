import CofferBase
import CofferEngine
import CofferVault
import Synchronization
import SystemPackage

/// A view copy. Its directory is removed by ``remove()`` or when this object is released.
final class ViewCopyHandle: Sendable {
    let path: FilePath
    let leaseNumber: Int32
    private let root: Descriptor
    private let directory: Descriptor
    private let directoryName: FilePath
    private let lease: Mutex<Descriptor?>
    /// The directory with the copy, open since before the copy was there: through it the copy is removed even
    /// if the process can open nothing more.
    private let copyDirectory = Mutex<Descriptor?>(nil)
    private let name: FilePath
    private static let holder: FilePath = "file"
    /// The time to wait for other threads to close descriptors, and that between two tries.
    private static let (longestWait, pause) = (Duration.milliseconds(200), Duration.milliseconds(5))
    private let registration = Mutex(0)
    private let original = Mutex<FileStatus?>(nil)
    private let removed = Atomic(false)
    /// Whether the copy had been changed when it was revoked, which cannot be determined afterwards.
    private let wasChanged = Atomic(false)
    /// The error that states why the copy was revoked before the viewing ended; `nil` if it was not revoked.
    private let cause = Mutex<CofferError?>(nil)

    /// The number under which this copy is registered with the active view copies.
    var number: Int { registration.withLock { $0 } }

    init(
        _ viewDirectory: consuming ViewCopyDirectory.ViewDirectory, _ name: FilePath.Component,
        _ protection: ProtectionClass,
        in activeViews: ActiveViewCopies
    ) {
        path = viewDirectory.view.directory.path.pushing(Self.holder).appending(name)
        leaseNumber = viewDirectory.view.lease.number
        self.name = FilePath(root: nil, [name])
        directoryName = viewDirectory.view.name
        root = viewDirectory.root
        directory = viewDirectory.view.directory
        lease = Mutex(viewDirectory.view.lease)
        let number = activeViews.add(protection) { [weak self] in
            self?.revoke(.locked, "The vault was locked")
        }
        registration.withLock { $0 = number }
    }

    /// Creates the directory for the copy.
    func makeHolder() throws(CofferError) { try directory.makeDirectory(Self.holder) }

    /// Creates an empty file for the copy, in a new directory.
    func makeFile() throws(CofferError) -> Descriptor {
        try makeHolder()
        var directory: Descriptor? = try holder()
        copyDirectory.withLock { $0 = directory.take() }
        return try holder().open(name, [.readWrite, .exclusive])
    }

    private func holder() throws(CofferError) -> Descriptor {
        try directory.open(Self.holder, [.read, .directory])
    }

    /// The number of bytes available in the copy's file system.
    var available: Int64 {
        get throws(CofferError) { try FileSystemInfo.of(root).available }
    }

    /// Records the complete copy's status, with which ``isChanged`` compares the current one.
    func recordOriginalStatus(_ status: FileStatus) { original.withLock { $0 = status } }

    /// Whether the copy was changed; for a revoked copy, whether it was changed before it was revoked.
    var isChanged: Bool {
        let isDifferent = (try? holder().status(of: name)) != original.withLock { $0 }
        // A copy that is being removed looks changed.
        guard removed.load(ordering: .sequentiallyConsistent) else { return isDifferent }
        return wasChanged.load(ordering: .sequentiallyConsistent)
    }

    /// Opens the file that now has the copy's name. Throws `refused` unless it is a regular file that belongs
    /// to this user.
    func edited() throws(CofferError) -> Descriptor {
        let file = try holder().open(name, .read)
        let status = try file.status()
        guard status.kind == .regular, status.isOwn else {
            throw CofferError(
                .refused,
                "The changes were not saved because the copy is no longer a regular file owned by this user. "
                    + "The file in the vault is unchanged.")
        }
        return file
    }

    /// Throws once the copy is being removed, because reading it may then return zeros.
    func check() throws(CofferError) {
        guard removed.load(ordering: .sequentiallyConsistent) else { return }
        throw cause.withLock { $0 } ?? CofferError(.cancelled, "The copy was revoked.")
    }

    private func revoke(_ code: CofferError.Code, _ reason: String) {
        cause.withLock {
            let message = "\(reason), so the copy was removed and any unsaved changes were lost."
            $0 = $0 ?? CofferError(code, message)
        }
        if isChanged { wasChanged.store(true, ordering: .sequentiallyConsistent) }
        try? remove()
    }

    /// Revokes the copy because its time limit expired.
    func expire() { revoke(.timedOut, "The time limit expired") }

    func isKeptByOthers() throws(CofferError) -> Bool {
        lease.withLock { $0 = nil }
        do throws(CofferError) {
            var again: Descriptor? = try ViewCopyDirectory.openLease(in: directory)
            guard try again?.tryLock() == true else { return true }
            lease.withLock { if let own = again.take() { $0 = consume own } }
        } catch {
            guard error.code == .absent else { throw error }
        }
        return false
    }

    func remove() throws(CofferError) {
        removed.store(true, ordering: .sequentiallyConsistent)
        copyDirectory.withLock { directory in
            guard let directory = directory.take() else { return }
            try? directory.overwrite(name)
            _ = try? directory.remove(name)
        }
        let end = Clock.sinceBoot + Self.longestWait
        // It may be impossible to remove entries that a viewer created; everything else is still removed.
        while let error = root.removeAll(of: directoryName, overwriting: true).first {
            guard Errno.isLackOfDescriptors(error), Clock.sinceBoot < end else { throw error }
            Clock.sleep(for: Self.pause)
        }
        ViewCopyDirectory.removeIfEmpty(root)
    }

    deinit { try? remove() }
}
