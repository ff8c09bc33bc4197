public import CofferBase
import CofferEngine
import CofferVault
public import SystemPackage

extension FileStore {
    /// Seals all remaining input from an open descriptor as a new file. The descriptor can refer to a pipe, a
    /// socket, standard input, or a file, which is read from its current position. No plaintext is written to
    /// disk, and the amount of memory used does not depend on the input's length.
    ///
    /// If the input is a pipe, this method cannot distinguish between a writing program that has finished and
    /// one that has failed.
    ///
    /// - Parameters:
    ///   - descriptor: The number of the descriptor to read from. The descriptor stays open, and its position
    ///     advances.
    ///   - name: The name to store.
    ///   - protection: The protection class, which determines when the file can be read; `nil` for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes to bind to the file's inner layer. The bytes are not stored, and reading
    ///     the file requires the same bytes.
    ///   - isVolatile: Whether the file is session-only: its key is kept only in memory, and with the next
    ///     lock the file becomes unreadable and is removed.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system but was not created for such a location.
    /// - Returns: The stored file's identifier.
    /// - Throws: `locked`, `wiped`; `invalidInput` if the descriptor is not open, or if the name or the
    ///   context is too long; `refused` if the descriptor refers to a directory, if the vault is on an
    ///   external medium that is not allowed, or if ``VaultSettings/requiresDiskEncryption`` is on and the
    ///   vault's disk is not known to be encrypted; `noSpace`; `readOnly` if the vault's file system is
    ///   read-only; `cancelled` if the task was cancelled.
    public func add(
        fromDescriptor descriptor: Int32, name: FilePath.Component,
        class protection: ProtectionClass? = nil,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        isVolatile: Bool = false, allowingExternalMedia: Bool = false
    ) async throws(CofferError) -> FileID {
        let settings = NewFile(
            name: name, protection: protection, suite: outerCipher, context: context,
            isVolatile: isVolatile, allowsExternalMedia: allowingExternalMedia)
        return try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let input = try Descriptor.duplicating(descriptor)
            let status = try input.status()
            guard status.kind != .directory else {
                throw CofferError(
                    .refused, "The file descriptor refers to a directory, which cannot be stored.")
            }
            let modified =
                status.kind == .regular ? status.modified : core.clock.wallClock().nanoseconds
            return try add(settings, modified: modified, check) { (buffer) throws(CofferError) in
                try Self.fill(&buffer, from: input, check)
            }
        }
    }

    /// The time in milliseconds to wait for input before checking whether to stop.
    private static let patience: Int32 = 100

    /// Reads until `buffer` is full or the input ends; returns the number of bytes read.
    private static func fill(
        _ buffer: inout MutableSpan<UInt8>, from input: borrowing Descriptor,
        _ check: () throws(CofferError) -> Void
    ) throws(CofferError) -> Int {
        let size = buffer.count
        var count = 0
        while count < size {
            try check()
            guard try input.waitForInput(milliseconds: patience) else { continue }
            var rest = buffer._mutatingExtracting(count..<size)
            guard let read = try input.readSome(into: &rest) else { break }
            count += read
        }
        return count
    }

    /// The properties of a new file other than its content.
    struct NewFile: Sendable {
        let name: FilePath.Component
        /// The class; `nil` for the vault's default.
        let protection: ProtectionClass?
        let suite: ContainerCipherSuite
        let context: [UInt8]
        let isVolatile: Bool
        let allowsExternalMedia: Bool
    }

    /// Seals content that `next` delivers piece by piece, in a container that a ``ContainerWriter`` writes,
    /// and returns the new file's identifier.
    func add(
        _ file: NewFile, modified: Int64, _ check: () throws(CofferError) -> Void,
        _ next: (inout MutableSpan<UInt8>) throws(CofferError) -> Int
    ) throws(CofferError) -> FileID {
        let name = try Self.checked(file.name, file.context)
        try core.checkMedium(allowingExternalMedia: file.allowsExternalMedia)
        let protection = try core.classOrDefault(file.protection)
        _ = try core.keyForStoring(protection)
        let id = try FileID.random()
        try addContainer(id, protection, file.context, isVolatile: file.isVolatile, check) {
            (target, keys) throws(CofferError) in
            let writer = ContainerWriter(
                id: id, device: core.device, classKey: keys.classKey, protection: protection,
                suite: file.suite, context: file.context, outerKEK: keys.outer, innerKEK: keys.inner)
            return try writer.seal(pieces: next, name: name, modified: modified, into: target, check: check)
        }
        return id
    }

    /// Checks a name and a context before anything is read, and returns the name's bytes.
    static func checked(_ name: FilePath.Component, _ context: [UInt8]) throws(CofferError) -> [UInt8] {
        guard name.kind == .regular, name.bytes.count <= InnerHeader.maxNameLength else {
            throw CofferError(
                .invalidInput,
                "A file name must be at most \(InnerHeader.maxNameLength) bytes long and must not be \".\" "
                    + "or \"..\".")
        }
        guard context.count <= maxContextLength else {
            throw CofferError(
                .invalidInput, "A context must be at most \(maxContextLength) bytes long.")
        }
        return name.bytes
    }
}
