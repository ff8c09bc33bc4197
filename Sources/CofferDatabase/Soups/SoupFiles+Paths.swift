public import Coffer
public import CofferBase
public import FoundationEssentials
import SystemPackage

/// Overloads that take paths as text or as file URLs.
extension SoupFiles {
    /// Seals a copy of the file at a path, given as text, and attaches it to an entry.
    ///
    /// - Parameters:
    ///   - path: A regular file; it is not removed.
    ///   - name: The attachment's name in the entry.
    ///   - entry: The entry's id.
    ///   - soup: The soup.
    ///   - protection: The class that determines when the file can be read.
    /// - Returns: The file's id.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise as for a `FilePath`.
    @discardableResult
    public func attach(
        contentsOf path: String, as name: String, to entry: Int64, in soup: String,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws(CofferError) -> FileID {
        try await attach(
            contentsOf: FilePath(text: path), as: name, to: entry, in: soup, class: protection)
    }

    /// Seals a copy of the file at a file URL and attaches it to an entry.
    ///
    /// - Parameters:
    ///   - url: A regular file; it is not removed.
    ///   - name: The attachment's name in the entry.
    ///   - entry: The entry's id.
    ///   - soup: The soup.
    ///   - protection: The class that determines when the file can be read.
    /// - Returns: The file's id.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise as for a
    ///   `FilePath`.
    @discardableResult
    public func attach(
        contentsOf url: URL, as name: String, to entry: Int64, in soup: String,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws(CofferError) -> FileID {
        try await attach(
            contentsOf: FilePath(fileURL: url), as: name, to: entry, in: soup, class: protection)
    }
}
