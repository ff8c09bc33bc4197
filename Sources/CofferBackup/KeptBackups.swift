import CofferBase
import CofferEngine
import SystemPackage

/// The earlier backups beside a new one: `NAME.1` is the newest of them.
enum KeptBackups {
    /// The maximum number of backups that are kept.
    static let maxCount = 1000

    /// Makes way for a new backup at `path`, of which `count` are kept, including the new one. The present
    /// one keeps its own name, too, until the new one replaces it.
    static func shift(at path: FilePath, keeping count: Int) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let parent = path.removingLastComponent()
        let folder = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        let present = FilePath(root: nil, [name])
        func older(_ number: Int) -> FilePath? {
            FileNameBytes.path(FileNameBytes.of(present) + Array(".\(number)".utf8))
        }
        // Those that are too many now, because fewer are to be kept than before.
        for number in count...max(count, maxCount) {
            guard let old = older(number), try folder.status(of: old)?.kind == .regular else { break }
            try folder.remove(old)
        }
        guard count > 1, try folder.status(of: present)?.kind == .regular else { return }
        for number in stride(from: count - 1, to: 1, by: -1) {
            guard let from = older(number - 1), let to = older(number),
                try folder.status(of: from)?.kind == .regular
            else { continue }
            try folder.rename(from, to: to)
        }
        guard let first = older(1) else { return }
        if try folder.status(of: first)?.kind == .regular { try folder.remove(first) }
        do throws(CofferError) {
            try folder.link(folder.open(present, .read), as: first)
        } catch {
            // A file system without links.
            guard error.code != .alreadyExists else { throw error }
            try folder.rename(present, to: first)
        }
        try folder.sync()
    }
}
