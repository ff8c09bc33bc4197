import CofferBase
import CofferEngine
import SystemPackage

/// The file that was sealed, when it is to go afterwards.
enum OriginalFile {
    /// What cannot be removed later is refused before anything is sealed.
    static func check(
        of path: FilePath, _ source: borrowing Descriptor
    ) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        guard try directory.status(of: FilePath(root: nil, [name]))?.isSameFile(as: source.status()) == true
        else {
            throw CofferError(.refused, "\(path) is a link: the file behind it is not removed through it.")
        }
    }

    static func remove(_ path: FilePath, ifStill source: borrowing Descriptor) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        let own = FilePath(root: nil, [name])
        guard try directory.status(of: own)?.isSameFile(as: source.status()) == true else {
            throw CofferError(.conflict, "\(path) was replaced while it was sealed; it was not removed.")
        }
        try directory.remove(own)
        try directory.sync()
    }
}
