import CofferBase
import CofferEngine
import SystemPackage

/// Where view copies live: directories on memory, of this user alone.
///
/// `$XDG_RUNTIME_DIR/coffer/views` where there is one on tmpfs; else `/dev/shm/coffer-` and a random name
/// that the vault keeps for itself. Layout: `<view>/lease` and `<view>/<directory>/<original name>`. Whoever
/// views holds a lock on `lease`, which the kernel drops when the process dies.
enum ViewRoots {
    private static let recordName: FilePath = "viewroot"
    private static let leaseName: FilePath = "lease"
    private static let sharedMemory: FilePath = "/dev/shm"
    /// A view directory that is being made; it has its lease before it loses the prefix.
    static let newPrefix = ".new-"

    /// The root to make a view in.
    static func usable(vault: borrowing Descriptor) throws(CofferError) -> Descriptor {
        if let runtime = try? runtimeRoot(creating: true) { return runtime }
        if let name = try? recordedName(vault), let root = try? sharedMemoryRoot(name, creating: true) {
            return root
        }
        let name = try "coffer-" + hexadecimal(SecureRandom.bytes(16))
        let bytes = Array(name.utf8)
        try vault.replace(recordName, with: bytes.span)
        return try sharedMemoryRoot(name, creating: true)
    }

    /// Every root that may hold views of this vault.
    private static func existing(recorded: String?) -> [Root] {
        var roots: [Root] = []
        if let root = try? runtimeRoot(creating: false) { roots.append(Root(root)) }
        if let recorded, let root = try? sharedMemoryRoot(recorded, creating: false) {
            roots.append(Root(root))
        }
        return roots
    }

    private final class Root: Sendable {
        let directory: Descriptor
        init(_ directory: consuming Descriptor) { self.directory = directory }
    }

    static var hasRuntimeDirectory: Bool {
        guard let path = Environment.value("XDG_RUNTIME_DIR"), path.utf8.hasPrefix("/"),
            let directory = try? Descriptor.open(FilePath(path), [.read, .directory])
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

    /// Removes views whose owner is dead; gives how many.
    static func reap(vault: borrowing Descriptor) throws(CofferError) -> Int {
        var count = 0
        for root in existing(recorded: try? recordedName(vault)) {
            for name in try root.directory.names() where try isDead(name, in: root.directory) {
                do throws(CofferError) {
                    try root.directory.removeTree(name, overwriting: true)
                    count += 1
                } catch {
                    // Somebody else is removing it, too.
                    guard error.code == .absent else { throw error }
                }
            }
            if count > 0 { removeIfEmpty(root.directory) }
        }
        return count
    }

    /// Removes a root of one vault under /dev/shm that holds nothing any more. The next view makes it again.
    static func removeIfEmpty(_ root: borrowing Descriptor) {
        guard root.path.removingLastComponent() == sharedMemory, let name = root.path.lastComponent,
            let shared = try? Descriptor.open(sharedMemory, [.read, .directory])
        else { return }
        _ = try? shared.removeDirectory(FilePath(root: nil, [name]))
    }

    /// Removes every view of one vault, dead or alive, and the root that only this vault has; gives how many
    /// views.
    static func removeAll(of vaultID: VaultID, recorded: String?) throws(CofferError) -> Int {
        var count = 0
        for root in existing(recorded: recorded) {
            for name in try root.directory.names() where try owner(of: name, in: root.directory) == vaultID {
                try root.directory.removeTree(name, overwriting: true)
                count += 1
            }
        }
        if let recorded, let shared = try? Descriptor.open(sharedMemory, [.read, .directory]) {
            _ = try? shared.removeDirectory(FilePath(recorded))
        }
        return count
    }

    private static func isDead(_ name: FilePath, in root: borrowing Descriptor) throws(CofferError) -> Bool {
        let status = try root.status(of: name)
        guard let status, status.kind == .directory else { return false }
        let isOld = Clock.wall.nanoseconds - status.modified > 60_000_000_000
        // Just being made: trying its lock could be in its owner's way.
        if name.string.utf8.hasPrefix(newPrefix), !isOld { return false }
        guard let view = try? root.open(name, [.read, .directory]),
            let lease = try? view.open(leaseName, .readWrite)
        else {
            // Without a lease there is only one that is being made, or one whose removal was cut short.
            return isOld || !name.string.utf8.hasPrefix(newPrefix)
        }
        return try FileLock.tryAcquire(lease) != nil
    }

    private static func owner(of name: FilePath, in root: borrowing Descriptor) throws(CofferError)
        -> VaultID?
    {
        guard let view = try? root.open(name, [.read, .directory]),
            let lease = try? view.open(leaseName, .read),
            let bytes = try? lease.readAll(limit: 16)
        else { return nil }
        return VaultID(bytes: bytes)
    }

    /// Makes a view directory with a lease that is held as long as the result lives.
    static func makeView(
        in root: borrowing Descriptor, vaultID: VaultID
    ) throws(CofferError) -> NewView {
        let unique = try hexadecimal(SecureRandom.bytes(16))
        let new = FilePath(newPrefix + unique)
        try root.makeDirectory(new)
        let directory = try root.open(new, [.read, .directory])
        let lease = try directory.open(leaseName, [.readWrite, .exclusive])
        let owner = vaultID.bytes
        try lease.write(owner.span, at: 0)
        try lease.lock()
        try root.renameWithoutReplacing(new, to: FilePath(unique))
        let opened = try root.open(FilePath(unique), [.read, .directory])
        return NewView(name: FilePath(unique), directory: opened, lease: lease)
    }

    /// The file whose lock keeps a view.
    static func openLease(in view: borrowing Descriptor) throws(CofferError) -> Descriptor {
        try view.open(leaseName, .readWrite)
    }

    /// A view directory whose lease is held as long as `lease` is open.
    struct NewView: ~Copyable {
        let name: FilePath
        let directory: Descriptor
        let lease: Descriptor
    }

    /// A root and the view that was made in it.
    struct Place: ~Copyable {
        let root: Descriptor
        let view: NewView
    }

    private static func runtimeRoot(creating: Bool) throws(CofferError) -> Descriptor {
        guard let path = Environment.value("XDG_RUNTIME_DIR"), path.utf8.hasPrefix("/") else {
            throw CofferError(.absent, "There is no runtime directory.")
        }
        var directory = try Descriptor.open(FilePath(path), [.read, .directory])
        try check(directory)
        for name: FilePath in ["coffer", "views"] {
            if creating, try directory.status(of: name) == nil { try? directory.makeDirectory(name) }
            directory = try directory.open(name, [.read, .directory])
            try check(directory)
        }
        return directory
    }

    private static func sharedMemoryRoot(_ name: String, creating: Bool) throws(CofferError) -> Descriptor {
        let shared: Descriptor
        do throws(CofferError) {
            shared = try Descriptor.open(sharedMemory, [.read, .directory])
        } catch {
            throw noMemory
        }
        guard try FileSystemInfo.of(shared).isMemory else { throw noMemory }
        if creating, try shared.status(of: FilePath(name)) == nil { try shared.makeDirectory(FilePath(name)) }
        let root = try shared.open(FilePath(name), [.read, .directory])
        try check(root)
        return root
    }

    private static var noMemory: CofferError {
        CofferError(.unsupported, "There is no directory in memory for the copy: no /dev/shm on tmpfs.")
    }

    static func recordedName(_ vault: borrowing Descriptor) throws(CofferError) -> String {
        let file = try vault.open(recordName, .read)
        let name = String(decoding: try file.readAll(limit: 64), as: UTF8.self)
        let isHexadecimal = name.utf8.dropFirst(7).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        guard name.utf8.hasPrefix("coffer-"), name.utf8.count == 39, isHexadecimal else {
            throw CofferError(.corrupt, "The record of the view directory is damaged.")
        }
        return name
    }

    /// Of this user, for this user alone, in memory; anything else may be somebody's trap.
    private static func check(_ directory: borrowing Descriptor) throws(CofferError) {
        let status = try directory.status()
        guard status.isOwn, status.permissions & 0o077 == 0, try FileSystemInfo.of(directory).isMemory else {
            throw CofferError(.refused, "\(directory.path) is not a directory in memory of this user alone.")
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
