public import CofferBase
import CofferEngine
public import SystemPackage
import Synchronization

extension FileStore {
    /// Gives `body` the path of a decrypted copy under the original name, readable by this user alone. The
    /// copy lies in memory and is gone when `body` ends, throws or is cancelled, and when the session locks
    /// meanwhile; after a crash, the next open removes it.
    ///
    /// Not guaranteed: other programs of the same user can read the copy while it is there; memory may be
    /// written to swap (see ``isSwapActive``); what a viewer copies elsewhere (recent files, thumbnails) is
    /// out of reach.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added.
    ///   - body: What views the copy.
    /// - Returns: What `body` gives.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`; `noSpace` when the copy would take more than half of
    ///   the free memory; `unsupported` where there is no memory file system; and what `body` throws.
    public func withViewCopy<Result>(
        of id: FileID, context: [UInt8] = [], _ body: (FilePath) async throws -> Result
    ) async throws -> Result {
        let copy = try await makeViewCopy(of: id, context)
        defer { openViews.forget(copy.number) }
        do {
            let result = try await body(copy.path)
            try copy.remove()
            return result
        } catch {
            try? copy.remove()
            throw error
        }
    }

    /// Whether view copies may be written to a swap device.
    public static var isSwapActive: Bool { FileSystemInfo.isSwapActive() }

    private func makeViewCopy(of id: FileID, _ context: [UInt8]) async throws(CofferError) -> ViewCopy {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            let check = try stopping(cancellation)
            let reader = try open(id, context: context)
            let vault = try core.home.openVault()
            // Under the lock, so that two processes do not each choose a root and record one of them.
            let root = try core.home.changingVault { (vault) throws(CofferError) in
                try ViewRoots.usable(vault: vault)
            }
            _ = try? ViewRoots.reap(vault: vault)
            let available = try FileSystemInfo.of(root).available
            guard reader.layout.length <= available / 2 else {
                throw CofferError(.noSpace, "The copy would take more than half of the free memory.")
            }
            let name = try reader.info.name
            let view = try ViewRoots.makeView(in: root, vaultID: core.device.vaultID)
            let copy = ViewCopy(root: root, view: view, name, in: openViews)
            do throws(CofferError) {
                let file = try copy.makeFile()
                try file.truncate(to: reader.layout.length)
                try reader.forEachRun(
                    in: 0..<reader.layout.chunkCount, check: check
                ) { (plaintext, offset) throws(CofferError) in try file.write(plaintext, at: offset) }
                try file.setPermissions(0o400)
                // A lock after the last chunk found nothing to remove, or a part of it.
                try check()
                return copy
            } catch {
                openViews.forget(copy.number)
                try? copy.remove()
                throw error
            }
        }
    }
}

extension Session {
    /// Removes view copies whose owner is dead; gives how many. Opening a session does it, too.
    ///
    /// - Throws: `notInitialised`, `wiped`, or what hinders the removal.
    public static func reapViewCopies(at location: HomeLocation) async throws(CofferError) -> Int {
        try await BlockingWork.run { _ throws(CofferError) in
            let vault = try Home.openDirectory(location).openVault()
            return try ViewRoots.reap(vault: vault)
        }
    }
}

/// One view copy: its directory goes when this is told to, or with its owner.
private final class ViewCopy: Sendable {
    let path: FilePath
    private let root: Descriptor
    private let view: ViewRoots.NewView
    private let name: FilePath.Component
    private static let holder: FilePath = "file"
    private let registration = Mutex(0)

    /// What the session forgets it by.
    var number: Int { registration.withLock { $0 } }

    init(
        root: consuming Descriptor, view: consuming ViewRoots.NewView, _ name: FilePath.Component,
        in openViews: OpenViews
    ) {
        path = view.directory.path.pushing(Self.holder).appending(name)
        self.root = root
        self.view = view
        self.name = name
        let number = openViews.add { [weak self] in try? self?.remove() }
        registration.withLock { $0 = number }
    }

    /// The copy, empty.
    func makeFile() throws(CofferError) -> Descriptor {
        try view.directory.makeDirectory(Self.holder)
        let directory = try view.directory.open(Self.holder, [.read, .directory])
        return try directory.open(FilePath(root: nil, [name]), [.readWrite, .exclusive])
    }

    func remove() throws(CofferError) {
        do throws(CofferError) {
            try root.removeTree(view.name, overwriting: true)
        } catch {
            // A wipe or a lock event was faster.
            guard error.code == .absent else { throw error }
        }
    }

    deinit { try? remove() }
}
