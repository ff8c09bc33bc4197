public import CofferBase
import CofferVault
public import FoundationEssentials
import SystemPackage

extension DirectoryRevocationSource {
    /// Creates a source that reads the directory at a path.
    ///
    /// - Throws: `invalidInput` if the path contains a NUL byte.
    public convenience init(_ path: String) throws(CofferError) { self.init(try FilePath(text: path)) }

    /// Creates a source that reads the directory at a file URL.
    ///
    /// - Throws: `invalidInput` if the URL does not refer to a file on this machine.
    public convenience init(_ url: URL) throws(CofferError) { self.init(try FilePath(fileURL: url)) }
}
