import CofferBase
import CofferEngine
import SystemPackage
import Synchronization

/// One view copy: its directory goes when this is told to, or with its owner.
final class ViewCopyHandle: Sendable {
    let path: FilePath
    let leaseNumber: Int32
    private let root: Descriptor
    private let directory: Descriptor
    private let directoryName: FilePath
    private let lease: Mutex<Descriptor?>
    private let name: FilePath
    private static let holder: FilePath = "file"
    private let registration = Mutex(0)
    private let original = Mutex<FileStatus?>(nil)
    private let removed = Atomic(false)
    /// Whether it was changed when it was taken back: afterwards nobody can tell.
    private let wasChanged = Atomic(false)
    /// Why it was taken back before its viewing ended.
    private let cause = Mutex<CofferError?>(nil)

    /// What the session forgets it by.
    var number: Int { registration.withLock { $0 } }

    init(
        _ place: consuming ViewCopyDirectory.ViewDirectory, _ name: FilePath.Component,
        _ protection: ProtectionClass,
        in openViews: ActiveViewCopies
    ) {
        path = place.view.directory.path.pushing(Self.holder).appending(name)
        leaseNumber = place.view.lease.number
        self.name = FilePath(root: nil, [name])
        directoryName = place.view.name
        root = place.root
        directory = place.view.directory
        lease = Mutex(place.view.lease)
        let number = openViews.add(protection) { [weak self] in
            self?.revoke(.locked, "The vault was locked")
        }
        registration.withLock { $0 = number }
    }

    /// The directory for the copy.
    func makeHolder() throws(CofferError) { try directory.makeDirectory(Self.holder) }

    /// The copy, empty.
    func makeFile() throws(CofferError) -> Descriptor {
        try makeHolder()
        return try holder().open(name, [.readWrite, .exclusive])
    }

    private func holder() throws(CofferError) -> Descriptor {
        try directory.open(Self.holder, [.read, .directory])
    }

    /// Memory that is free for it.
    var available: Int64 {
        get throws(CofferError) { try FileSystemInfo.of(root).available }
    }

    /// Remembers how the copy looks now that it is whole.
    func recordOriginalStatus(_ status: FileStatus) { original.withLock { $0 = status } }

    /// Whether somebody changed the copy; of one that was taken back, whether it was changed by then.
    var isChanged: Bool {
        let isDifferent = (try? holder().status(of: name)) != original.withLock { $0 }
        // A copy that is being removed looks changed.
        guard removed.load(ordering: .sequentiallyConsistent) else { return isDifferent }
        return wasChanged.load(ordering: .sequentiallyConsistent)
    }

    /// What is there under the name now, when it can be sealed: a regular file of this user.
    func edited() throws(CofferError) -> Descriptor {
        let file = try holder().open(name, .read)
        let status = try file.status()
        guard status.kind == .regular, status.isOwn else {
            throw CofferError(
                .refused,
                "What is in the copy's place is not a regular file of this user: nothing was saved, and the "
                    + "file is as before.")
        }
        return file
    }

    /// Throws once the copy is being removed: what is read of it then may be zeros.
    func check() throws(CofferError) {
        guard removed.load(ordering: .sequentiallyConsistent) else { return }
        throw cause.withLock { $0 } ?? CofferError(.cancelled, "The copy was taken back.")
    }

    private func revoke(_ code: CofferError.Code, _ reason: String) {
        cause.withLock {
            $0 = $0 ?? CofferError(code, "\(reason): the copy was taken back, with what was changed in it.")
        }
        if isChanged { wasChanged.store(true, ordering: .sequentiallyConsistent) }
        try? remove()
    }

    /// Takes the copy back after `limit`.
    func end(after limit: Duration) {
        ViewTimer.after(limit) { [weak self] in self?.revoke(.timedOut, "The time is up") }
    }

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
        // What a viewer made in it may resist; that keeps nothing else.
        if let error = root.removeAll(of: directoryName, overwriting: true).first { throw error }
        ViewCopyDirectory.removeIfEmpty(root)
    }

    deinit { try? remove() }
}
