import BenchPeers
import CofferBase
import CofferEngine
import SystemPackage

/// A directory for large files: in memory if the system has `/dev/shm`, so that no disk is measured, unless a
/// disk is requested.
final class Workspace: Sendable {
    /// The directory.
    let path: FilePath
    private let parent: FilePath
    private let name: FilePath

    private init(parent: FilePath, name: FilePath) {
        self.parent = parent
        self.name = name
        path = parent.pushing(name)
    }

    /// Creates the directory, in memory if there is room for it, or on a disk. An interruption removes it.
    static func make(onDisk: Bool = false) throws(CofferError) -> Workspace {
        for parent in (onDisk ? ["/var/tmp", "/tmp"] : ["/dev/shm", "/tmp"]) as [FilePath] {
            guard let base = try? Descriptor.open(parent, [.read, .directory]) else { continue }
            let name = FilePath("coffer-bench" + (try randomName()))
            guard (try? base.makeDirectory(name)) != nil else { continue }
            let made = Workspace(parent: parent, name: name)
            OwnProcess.onInterrupt { made.remove() }
            return made
        }
        throw CofferError(.unsupported, "There is no directory for large files.")
    }

    /// The free space in bytes.
    var available: Int64 {
        guard let base = try? Descriptor.open(path, [.read, .directory]),
            let info = try? FileSystemInfo.of(base)
        else { return 0 }
        return info.available
    }

    /// A path in the directory.
    func file(_ name: String) -> FilePath { path.appending(name) }

    /// A new random name.
    static func randomName() throws(CofferError) -> String { try Descriptor.temporaryName().string }

    /// Fills `target` with incompressible bytes unless it has this size already; a sparse file gets no data.
    func fill(_ target: FilePath, size: Int, sparse: Bool) throws(CofferError) {
        let descriptor = try Descriptor.open(target, [.readWrite, .create])
        guard try descriptor.status().size != Int64(size) else { return }
        guard !sparse else { return try descriptor.truncate(to: Int64(size)) }
        let block = try SecureRandom.bytes(1 << 20)
        var done = 0
        while done < size {
            let count = min(block.count, size - done)
            try descriptor.write(block.span.extracting(..<count), at: Int64(done))
            done += count
        }
    }

    /// Whether both files hold the same bytes.
    func same(_ left: FilePath, _ right: FilePath) throws(CofferError) -> Bool {
        let first = try Descriptor.open(left, .read)
        let second = try Descriptor.open(right, .read)
        var offset: Int64 = 0
        var pieces = ([UInt8](repeating: 0, count: 1 << 20), [UInt8](repeating: 0, count: 1 << 20))
        while true {
            var span = pieces.0.mutableSpan
            let count = try first.read(at: offset, into: &span)
            var other = pieces.1.mutableSpan
            guard try second.read(at: offset, into: &other) == count, pieces.0 == pieces.1 else {
                return false
            }
            if count < pieces.0.count { return true }
            offset += Int64(count)
        }
    }

    /// Removes files of this directory, if they exist.
    func remove(_ files: FilePath...) throws(CofferError) {
        let base = try Descriptor.open(path, [.read, .directory])
        for file in files { if let last = file.lastComponent { try base.remove(FilePath(last.string)) } }
    }

    /// Removes the directory and its contents.
    func remove() {
        guard let base = try? Descriptor.open(parent, [.read, .directory]) else { return }
        try? base.removeTree(name)
    }
}
