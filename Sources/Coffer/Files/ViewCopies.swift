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
            _ = try? ViewRoots.reap(vault: vault)
            let name = try reader.info.name
            let copy = ViewCopy(try makePlace(), name, in: openViews)
            do throws(CofferError) {
                guard try reader.layout.length <= copy.available / 2 else {
                    throw CofferError(.noSpace, "The copy would take more than half of the free memory.")
                }
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

extension FileStore {
    /// A directory for a view. Under the lock, so that two processes do not each choose a root and record one
    /// of them. A root that another view's end has just removed is made again.
    private func makePlace(tries: Int = 8) throws(CofferError) -> ViewRoots.Place {
        do throws(CofferError) {
            return try core.home.exclusively { () throws(CofferError) in
                let vault = try core.home.openVault()
                let root = try ViewRoots.usable(vault: vault)
                let view = try ViewRoots.makeView(in: root, vaultID: core.device.vaultID)
                return ViewRoots.Place(root: root, view: view)
            }
        } catch {
            guard error.code == .absent, tries > 0 else { throw error }
            return try makePlace(tries: tries - 1)
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
    private let place: ViewRoots.Place
    private let name: FilePath.Component
    private static let holder: FilePath = "file"
    private let registration = Mutex(0)

    /// What the session forgets it by.
    var number: Int { registration.withLock { $0 } }

    init(_ place: consuming ViewRoots.Place, _ name: FilePath.Component, in openViews: OpenViews) {
        path = place.view.directory.path.pushing(Self.holder).appending(name)
        self.place = place
        self.name = name
        let number = openViews.add { [weak self] in try? self?.remove() }
        registration.withLock { $0 = number }
    }

    /// The copy, empty.
    func makeFile() throws(CofferError) -> Descriptor {
        try place.view.directory.makeDirectory(Self.holder)
        let directory = try place.view.directory.open(Self.holder, [.read, .directory])
        return try directory.open(FilePath(root: nil, [name]), [.readWrite, .exclusive])
    }

    /// Memory that is free for it.
    var available: Int64 {
        get throws(CofferError) { try FileSystemInfo.of(place.root).available }
    }

    func remove() throws(CofferError) {
        do throws(CofferError) {
            try place.root.removeTree(place.view.name, overwriting: true)
            ViewRoots.removeIfEmpty(place.root)
        } catch {
            // A wipe or a lock event was faster.
            guard error.code == .absent else { throw error }
        }
    }

    deinit { try? remove() }
}
