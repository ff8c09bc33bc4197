public import CofferBase
import CofferEngine
import CofferVault
public import SystemPackage

extension FileStore {
    /// Seals everything that can be read from an open descriptor until the input ends: from a pipe, a socket,
    /// standard input, or a file from its current position on. No plaintext is written anywhere, and the
    /// memory needed does not depend on the length.
    ///
    /// This method cannot distinguish a program that fails while it writes to a pipe from one that has
    /// written everything.
    ///
    /// - Parameters:
    ///   - descriptor: The number of the descriptor to read. It stays open, and its position advances.
    ///   - name: The name to store.
    ///   - protection: The protection class, which decides when the file can be read.
    ///   - outerCipher: The cipher for the outer layer.
    ///   - context: Up to 1024 bytes that are bound into the inner layer. Reading the file requires the same
    ///     bytes. They are not stored.
    ///   - allowingExternalMedia: Whether to accept a vault that is now on a removable medium or a network
    ///     file system, although it was not created for that.
    /// - Returns: The id of the stored file.
    /// - Throws: `locked`, `wiped`; `invalidInput` for a descriptor that is not open, or a name or a context
    ///   that is too long; `refused` for a directory, and for a vault on an external medium; `noSpace`,
    ///   `readOnly`, `cancelled`.
    public func add(
        fromDescriptor descriptor: Int32, name: FilePath.Component,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        outerCipher: ContainerCipherSuite = .chaCha20Poly1305, context: [UInt8] = [],
        allowingExternalMedia: Bool = false
    ) async throws(CofferError) -> FileID {
        let settings = NewFile(
            name: name, protection: protection, suite: outerCipher, context: context,
            allowsExternalMedia: allowingExternalMedia)
        return try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let input = try Descriptor.duplicating(descriptor)
            let status = try input.status()
            guard status.kind != .directory else {
                throw CofferError(.refused, "The descriptor refers to a directory, which cannot be stored.")
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

    /// Reads until `buffer` is full or the input ends; returns the number of bytes.
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
        let protection: ProtectionClass
        let suite: ContainerCipherSuite
        let context: [UInt8]
        let allowsExternalMedia: Bool
    }

    /// Seals content that `next` delivers piece by piece; see ``ContainerWriter``.
    func add(
        _ file: NewFile, modified: Int64, _ check: () throws(CofferError) -> Void,
        _ next: (inout MutableSpan<UInt8>) throws(CofferError) -> Int
    ) throws(CofferError) -> FileID {
        let name = try Self.checked(file.name, file.context)
        if !file.allowsExternalMedia { try MediaPolicy.checkVault(core.home.openVault()) }
        let classKey = try core.keyForStoring(file.protection)
        let id = try FileID.random()
        try addContainer(id, file.protection, classKey, check) {
            (target, outer, inner) throws(CofferError) in
            let writer = ContainerWriter(
                id: id, device: core.device, classKey: classKey, protection: file.protection,
                suite: file.suite, context: file.context, outerKEK: outer, innerKEK: inner)
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
