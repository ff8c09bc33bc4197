public import CofferBase
public import CofferVault
public import FoundationEssentials
public import SystemPackage

/// Methods that take paths as text or as file URLs.
extension FileStore {
    /// Seals a copy of the file at a path given as text.
    ///
    /// - Parameters:
    ///   - path: A regular file. Its name and date are sealed with its content.
    ///   - name: The name to store; `nil` for the path's last component.
    ///   - protection: The protection class, which decides when the file can be read.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes that are bound into the inner layer.
    ///   - removingOriginal: Whether to remove the file at `path` once the sealed copy is safely on disk.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system.
    ///   - progress: Called from time to time on worker threads.
    /// - Returns: The id of the stored file.
    /// - Throws: `invalidInput` for a path that contains a NUL; otherwise the errors of the method that takes
    ///   a `FilePath`.
    public func add(
        contentsOf path: String, name: FilePath.Component? = nil,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        removingOriginal: Bool = false, allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await add(
            contentsOf: FilePath(text: path), name: name, class: protection, outerCipher: outerCipher,
            context: context, removingOriginal: removingOriginal,
            allowingExternalMedia: allowingExternalMedia, progress: progress)
    }

    /// Seals a copy of the file at a file URL.
    ///
    /// - Parameters:
    ///   - url: A regular file. Its name and date are sealed with its content.
    ///   - name: The name to store; `nil` for the path's last component.
    ///   - protection: The protection class, which decides when the file can be read.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes that are bound into the inner layer.
    ///   - removingOriginal: Whether to remove the file at `url` once the sealed copy is safely on disk.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system.
    ///   - progress: Called from time to time on worker threads.
    /// - Returns: The id of the stored file.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise the errors of the
    ///   method that takes a `FilePath`.
    public func add(
        contentsOf url: URL, name: FilePath.Component? = nil,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        removingOriginal: Bool = false, allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await add(
            contentsOf: FilePath(fileURL: url), name: name, class: protection, outerCipher: outerCipher,
            context: context, removingOriginal: removingOriginal,
            allowingExternalMedia: allowingExternalMedia, progress: progress)
    }

    /// Writes the decrypted content to a new file at a path given as text. Coffer does not protect that file.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - path: The destination.
    ///   - replacing: Whether to replace an existing file.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: Called from time to time on worker threads.
    /// - Throws: `invalidInput` for a path that contains a NUL; otherwise the errors of the method that takes
    ///   a `FilePath`.
    public func export(
        _ id: FileID, to path: String, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await export(
            id, to: FilePath(text: path), replacing: replacing, context: context, progress: progress)
    }

    /// Writes the decrypted content to a new file at a file URL. Coffer does not protect that file.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - url: The destination.
    ///   - replacing: Whether to replace an existing file.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: Called from time to time on worker threads.
    /// - Throws: `invalidInput` for a URL that is not a file URL on this machine; otherwise the errors of the
    ///   method that takes a `FilePath`.
    public func export(
        _ id: FileID, to url: URL, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await export(
            id, to: FilePath(fileURL: url), replacing: replacing, context: context, progress: progress)
    }
}
