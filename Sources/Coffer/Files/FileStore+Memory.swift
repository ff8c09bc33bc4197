public import CofferBase
import CofferEngine
import CofferVault
public import FoundationEssentials
public import SystemPackage

extension FileStore {
    /// Seals bytes from memory as a new file. No plaintext is written to disk.
    ///
    /// This method does not clear the array afterwards. If the content must not remain in memory, pass a
    /// `Span` of memory that you clear yourself.
    ///
    /// - Parameters:
    ///   - bytes: The file's content.
    ///   - name: The name to store.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - modified: The modification date to store; `nil` for the current time.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system but was not created for such a location.
    /// - Returns: The stored file's identifier.
    /// - Throws: `locked`, `wiped`; `invalidInput` if the name or the context is too long; `refused` if the
    ///   vault is on an external medium that is not allowed, or if ``VaultSettings/requiresDiskEncryption``
    ///   is on and the vault's disk is not known to be encrypted; `noSpace`; `readOnly` if the vault's file
    ///   system is read-only; `cancelled` if the task was cancelled.
    public func add(
        _ bytes: [UInt8], name: FilePath.Component,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, modified: Date? = nil, allowingExternalMedia: Bool = false
    ) async throws(CofferError) -> FileID {
        let file = NewFile(
            name: name, protection: protection, suite: outerCipher, context: context,
            isVolatile: isVolatile, allowsExternalMedia: allowingExternalMedia)
        return try await add(file, .array(bytes), modified)
    }

    /// Seals data from memory as a new file. No plaintext is written to disk.
    ///
    /// - Parameters:
    ///   - data: The file's content.
    ///   - name: The name to store.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - modified: The modification date to store; `nil` for the current time.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system but was not created for such a location.
    /// - Returns: The stored file's identifier.
    /// - Throws: `locked`, `wiped`; `invalidInput` if the name or the context is too long; `refused` if the
    ///   vault is on an external medium that is not allowed, or if ``VaultSettings/requiresDiskEncryption``
    ///   is on and the vault's disk is not known to be encrypted; `noSpace`; `readOnly` if the vault's file
    ///   system is read-only; `cancelled` if the task was cancelled.
    public func add(
        _ data: Data, name: FilePath.Component,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, modified: Date? = nil, allowingExternalMedia: Bool = false
    ) async throws(CofferError) -> FileID {
        let file = NewFile(
            name: name, protection: protection, suite: outerCipher, context: context,
            isVolatile: isVolatile, allowsExternalMedia: allowingExternalMedia)
        return try await add(file, .array([UInt8](data)), modified)
    }

    /// Seals bytes from any kind of memory, such as guarded memory, as a new file. No plaintext is written to
    /// disk. The bytes are copied to memory that is cleared afterwards.
    ///
    /// - Parameters:
    ///   - bytes: The file's content.
    ///   - name: The name to store.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - modified: The modification date to store; `nil` for the current time.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system but was not created for such a location.
    /// - Returns: The stored file's identifier.
    /// - Throws: `locked`, `wiped`; `invalidInput` if the name or the context is too long; `refused` if the
    ///   vault is on an external medium that is not allowed, or if ``VaultSettings/requiresDiskEncryption``
    ///   is on and the vault's disk is not known to be encrypted; `outOfMemory` if there is not enough memory
    ///   for the copy; `noSpace`; `readOnly` if the vault's file system is read-only; `cancelled` if the task
    ///   was cancelled.
    public func add(
        _ bytes: Span<UInt8>, name: FilePath.Component,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, modified: Date? = nil, allowingExternalMedia: Bool = false
    ) async throws(CofferError) -> FileID {
        let file = NewFile(
            name: name, protection: protection, suite: outerCipher, context: context,
            isVolatile: isVolatile, allowsExternalMedia: allowingExternalMedia)
        return try await add(file, try BytesInMemory.copying(bytes), modified)
    }

    private func add(
        _ file: NewFile, _ content: BytesInMemory, _ modified: Date?
    ) async throws(CofferError) -> FileID {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let date = modified?.nanosecondsSince1970 ?? core.clock.wallClock().nanoseconds
            var offset = 0
            return try add(file, modified: date, check) { (buffer) throws(CofferError) in
                let count = content.copy(from: offset, into: &buffer)
                offset += count
                return count
            }
        }
    }
}

/// In-memory content in a form that another thread can read.
private enum BytesInMemory: Sendable {
    case array([UInt8])
    case buffer(AlignedBuffer, count: Int)

    static func copying(_ bytes: Span<UInt8>) throws(CofferError) -> BytesInMemory {
        let count = bytes.count
        let buffer = try AlignedBuffer.make(count: max(count, 1))
        buffer.write(0..<count) { $0.write(bytes, at: 0) }
        return .buffer(buffer, count: count)
    }

    private var count: Int {
        switch self {
        case .array(let bytes): bytes.count
        case .buffer(_, let count): count
        }
    }

    /// Copies bytes, beginning at `offset`, until `target` is full or the content ends; returns the number of
    /// copied bytes.
    func copy(from offset: Int, into target: inout MutableSpan<UInt8>) -> Int {
        let range = offset..<min(count, offset + target.count)
        switch self {
        case .array(let bytes): target.write(bytes.span.extracting(range), at: 0)
        case .buffer(let buffer, _): buffer.read(range) { target.write($0, at: 0) }
        }
        return range.count
    }
}
