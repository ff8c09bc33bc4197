public import Coffer
public import CofferBase
public import FoundationEssentials
import SystemPackage

/// Overloads that accept paths as strings or as file URLs.
extension SoupFiles {
    /// Seals a copy of the file at a path string and attaches it to an entry, replacing an earlier file of
    /// the same name.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file, which is not removed.
    ///   - name: The attachment's name in the entry, which must not be empty or contain control characters.
    ///   - entry: The entry's id.
    ///   - soup: The name of the soup.
    ///   - protection: The class that determines when the file can be read; `nil` for the vault's default.
    /// - Returns: The id of the sealed file.
    /// - Throws: `invalidInput` if the path contains a NUL; also the errors of the `FilePath` overload.
    @discardableResult
    public func attach(
        contentsOf path: String, as name: String, to entry: Int64, in soup: String,
        class protection: ProtectionClass? = nil
    ) async throws(CofferError) -> FileID {
        try await attach(
            contentsOf: FilePath(text: path), as: name, to: entry, in: soup, class: protection)
    }

    /// Seals a copy of the file at a file URL and attaches it to an entry, replacing an earlier file of the
    /// same name.
    ///
    /// - Parameters:
    ///   - url: The URL of a regular file, which is not removed.
    ///   - name: The attachment's name in the entry, which must not be empty or contain control characters.
    ///   - entry: The entry's id.
    ///   - soup: The name of the soup.
    ///   - protection: The class that determines when the file can be read; `nil` for the vault's default.
    /// - Returns: The id of the sealed file.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; also the errors of the
    ///   `FilePath` overload.
    @discardableResult
    public func attach(
        contentsOf url: URL, as name: String, to entry: Int64, in soup: String,
        class protection: ProtectionClass? = nil
    ) async throws(CofferError) -> FileID {
        try await attach(
            contentsOf: FilePath(fileURL: url), as: name, to: entry, in: soup, class: protection)
    }
}
