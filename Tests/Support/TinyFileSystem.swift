package import CofferEngine
import SystemPackage

/// A memory file system, of four pages unless told, mounted in a namespace of its own by a helper: a full
/// disk without root.
package final class TinyFileSystem {
    private let helper: Helper
    private let scratch: ScratchDirectory

    private init(helper: Helper, scratch: consuming ScratchDirectory) {
        self.helper = helper
        self.scratch = scratch
    }

    /// `nil` where the kernel forbids such namespaces.
    package static func make(kibibytes: Int = 16) throws -> TinyFileSystem? {
        let scratch = try ScratchDirectory.make()
        let script =
            "mount -t tmpfs -o size=\(kibibytes)k,mode=700 tmpfs \"$0\" && echo ready && read -r line"
        guard let helper = Helper(["unshare", "-Urm", "sh", "-c", script, scratch.path.string]) else {
            return nil
        }
        return TinyFileSystem(helper: helper, scratch: scratch)
    }

    /// Whether this host can make one.
    package static let isAvailable = (try? make()?.open()) != nil

    /// Its root, seen through the helper's namespace.
    package func open() throws -> Descriptor {
        let path = FilePath("/proc/\(helper.identifier)/root").pushing(scratch.path.removingRoot())
        return try Descriptor.open(path, [.read, .directory])
    }
}
