package import CofferBase
package import CofferEngine
package import SystemPackage

/// Writes files outside the vault. A file appears only when its content is complete and flushed to disk.
package enum AtomicFile {
    /// Creates a file at `path`, readable only by this user, with the content that `fill` writes.
    ///
    /// Throws `alreadyExists` if the path exists, and rethrows the errors of `fill`. If `fill` throws, no
    /// file is created.
    package static func create<Result>(
        at path: FilePath, _ fill: (borrowing Descriptor) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        guard let name = path.lastComponent else {
            throw CofferError(
                .invalidInput, "The path \"\(path)\" does not name a file: end it with the new file's name.")
        }
        let target = FilePath(root: nil, [name])
        let parent = path.removingLastComponent()
        let directory = try open(parent)
        guard try directory.status(of: target) == nil else {
            throw CofferError(
                .alreadyExists, "\(path) already exists and is not replaced: choose another path.")
        }
        let result: Result
        // Write to an unnamed file where the file system supports it, so that a crash leaves nothing
        // readable.
        switch try directory.openUnnamed() {
        case .some(let file):
            result = try fill(file)
            try file.sync()
            try directory.link(file, as: target)
        case .none:
            let temporary = try Descriptor.temporaryName()
            let file = try directory.open(temporary, [.readWrite, .exclusive])
            do throws(CofferError) {
                result = try fill(file)
                try file.sync()
                try directory.renameWithoutReplacing(temporary, to: target)
            } catch {
                _ = try? directory.remove(temporary)
                throw error
            }
        }
        try directory.sync()
        return result
    }

    private static func open(_ parent: FilePath) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .absent, "There is no directory \(parent): create it first, or choose another path.",
                systemError: error.systemError)
        }
    }
}
