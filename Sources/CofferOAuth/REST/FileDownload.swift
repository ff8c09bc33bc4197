public import CofferBase
import CofferEngine
public import SystemPackage

/// A download into a new file, which gets its name only when it is complete.
///
/// Until then the bytes lie in a file with a random name in the same directory, readable only by its owner. A
/// crash can leave that file, `.tmp-…`.
public final class FileDownload: DownloadSink {
    private let directory: Descriptor
    private let file: Descriptor
    private let temporary: FilePath
    private let name: FilePath

    /// Creates a download.
    ///
    /// - Parameter path: The file's path. An existing file is not replaced.
    /// - Throws: `invalidInput` if the path has no last component; `inputOutput`, `permissionDenied`,
    ///   `noSpace` or another code of the file system.
    public init(to path: FilePath) throws(CofferError) {
        guard let last = path.lastComponent, last.kind == .regular else {
            throw CofferError(.invalidInput, "The path must end with the name of a file.")
        }
        name = FilePath(root: nil, [last])
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        temporary = try Descriptor.temporaryName()
        file = try directory.open(temporary, [.readWrite, .exclusive])
        self.directory = directory
    }

    /// Appends bytes to the file.
    public func write(_ bytes: Span<UInt8>) throws(CofferError) { try file.append(bytes) }

    /// Flushes the file and gives it its name.
    ///
    /// - Throws: `alreadyExists` if another file has the name; otherwise a code of the file system.
    public func finish() throws(CofferError) {
        do throws(CofferError) {
            try file.sync()
            try directory.renameWithoutReplacing(temporary, to: name)
        } catch {
            discard()
            throw error
        }
        try directory.sync()
    }

    /// Removes the file.
    public func discard() { _ = try? directory.remove(temporary) }
}
