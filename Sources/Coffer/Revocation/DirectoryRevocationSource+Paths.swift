public import CofferBase
import CofferVault
public import FoundationEssentials
import SystemPackage

extension DirectoryRevocationSource {
    /// Creates a source that reads the directory at a path.
    ///
    /// - Throws: `invalidInput` for a path with a NUL.
    public convenience init(_ path: String) throws(CofferError) { self.init(try FilePath(text: path)) }

    /// Creates a source that reads the directory at a file URL.
    ///
    /// - Throws: `invalidInput` for a URL that is not a file URL of this machine.
    public convenience init(_ url: URL) throws(CofferError) { self.init(try FilePath(fileURL: url)) }
}
