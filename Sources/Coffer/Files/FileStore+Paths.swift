public import CofferBase
public import CofferVault
public import FoundationEssentials
public import SystemPackage

/// Methods that accept paths as strings or file URLs.
extension FileStore {
    /// Seals a copy of the file at the given path string.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file. The file's name and date are sealed with its content.
    ///   - name: The name to store; `nil` for the path's last component.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - removingOriginal: Whether to remove the file at `path` once the sealed copy is safely on disk.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Returns: The stored file's identifier.
    /// - Throws: `invalidInput` if the path contains a NUL character; otherwise, the errors that the method
    ///   with a `FilePath` parameter throws.
    public func add(
        contentsOf path: String, name: FilePath.Component? = nil,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, removingOriginal: Bool = false, allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await add(
            contentsOf: FilePath(text: path), name: name, class: protection, outerCipher: outerCipher,
            context: context, isVolatile: isVolatile, removingOriginal: removingOriginal,
            allowingExternalMedia: allowingExternalMedia, progress: progress)
    }

    /// Seals a copy of the file at the given file URL.
    ///
    /// - Parameters:
    ///   - url: The URL of a regular file. The file's name and date are sealed with its content.
    ///   - name: The name to store; `nil` for the path's last component.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - removingOriginal: Whether to remove the file at `url` once the sealed copy is safely on disk.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Returns: The stored file's identifier.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; otherwise, the errors that the
    ///   method with a `FilePath` parameter throws.
    public func add(
        contentsOf url: URL, name: FilePath.Component? = nil,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, removingOriginal: Bool = false, allowingExternalMedia: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await add(
            contentsOf: FilePath(fileURL: url), name: name, class: protection, outerCipher: outerCipher,
            context: context, isVolatile: isVolatile, removingOriginal: removingOriginal,
            allowingExternalMedia: allowingExternalMedia, progress: progress)
    }

    /// Writes a file's decrypted content to a new file at the given path string. Coffer does not protect the
    /// new file.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - path: The new file's path.
    ///   - replacing: Whether to replace an existing file at the destination.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Throws: `invalidInput` if the path contains a NUL character; otherwise, the errors that the method
    ///   with a `FilePath` parameter throws.
    public func export(
        _ id: FileID, to path: String, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await export(
            id, to: FilePath(text: path), replacing: replacing, context: context, progress: progress)
    }

    /// Writes a file's decrypted content to a new file at the given file URL. Coffer does not protect the new
    /// file.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - url: The new file's URL.
    ///   - replacing: Whether to replace an existing file at the destination.
    ///   - context: The context that was bound to the file when it was added.
    ///   - progress: A closure that is called from time to time, on worker threads, with the current
    ///     progress.
    /// - Throws: `invalidInput` if the URL is not a file URL on this machine; otherwise, the errors that the
    ///   method with a `FilePath` parameter throws.
    public func export(
        _ id: FileID, to url: URL, replacing: Bool = false, context: [UInt8] = [],
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await export(
            id, to: FilePath(fileURL: url), replacing: replacing, context: context, progress: progress)
    }
}
