import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// A rule that prevents a file in a vault directory from being sealed in that vault and then removed.
enum OriginalRule {
    /// The identity of a file or directory, regardless of its names.
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// Throws `refused` if `source`, opened by `path`, is in the vault directory `home` or in the vault
    /// directory that contains it, regardless of the names, links or mounts along the path.
    static func check(
        _ path: FilePath, _ source: borrowing Descriptor, outside home: VaultDirectory
    ) throws(CofferError) {
        let status = try source.status()
        var own: Set<Identity> = []
        // A hard link to one of the vault's files counts as that file.
        try collect(home.outermost(), withFiles: status.links > 1, into: &own)
        guard !own.contains(Identity(status)), try !isBelow(own, path) else {
            throw CofferError(
                .refused, "\(path) cannot be removed because the file is in the vault's own directory.",
                remedy: .keepOriginal)
        }
    }

    /// Adds `directory` and all directories in it to `found`; if `withFiles` is `true`, also adds the files.
    private static func collect(
        _ directory: consuming Descriptor, withFiles: Bool, into found: inout Set<Identity>
    ) throws(CofferError) {
        found.insert(Identity(try directory.status()))
        for name in try directory.names() where withFiles || FileID(fileName: name) == nil {
            guard let status = try directory.status(of: name) else { continue }
            if withFiles, status.kind == .regular { found.insert(Identity(status)) }
            guard status.kind == .directory else { continue }
            try collect(directory.open(name, [.read, .directory]), withFiles: withFiles, into: &found)
        }
    }

    /// Returns whether one of the directories above the file at `path` is in `own`.
    private static func isBelow(_ own: Set<Identity>, _ path: FilePath) throws(CofferError) -> Bool {
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        return try directory.isOrIsBelow { own.contains(Identity($0)) }
    }
}
