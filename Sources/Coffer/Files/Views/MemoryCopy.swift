import CofferBase
import CofferEngine
import CofferVault
public import SystemPackage

/// A decrypted copy in an unnamed, immutable in-memory file, which
/// ``FileStore/withMemoryCopy(of:context:options:_:)`` passes to its closure.
public struct MemoryCopy: Sendable {
    /// The descriptor number of the open file in this process. A child process that inherits the descriptor
    /// can view the copy. Another process that has opened the copy retains access to it, even after the vault
    /// locks.
    public let descriptor: Int32

    /// A path for programs that do not accept a descriptor: `/proc/self/fd/` followed by the descriptor
    /// number. The path is valid in this process and in a child process that has inherited the descriptor.
    public let path: FilePath

    /// The copy's length in bytes.
    public let length: Int64

    /// Whether the kernel may write the copy to a swap device that is neither in memory nor encrypted.
    public let isSwappable: Bool
}

extension FileStore {
    /// Calls `body` with the decrypted content as an open in-memory file that is sealed against changes. Use
    /// this method for code that accepts a descriptor, or a path that does not contain the file's name. If
    /// this process is killed, no copy remains, because the kernel removes the in-memory file when no process
    /// has it open anymore.
    ///
    /// After the vault locks or the time limit expires, the descriptor number refers to an empty file.
    /// Another process that opened the copy before then retains access to it.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    ///   - options: The options for the copy, such as a time limit.
    ///   - body: A closure that uses the copy.
    /// - Returns: The result of `body`.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`; `noSpace` if the copy would use more than half of the free
    ///   memory; and any error that `body` throws.
    public func withMemoryCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions = ViewOptions(),
        _ body: (MemoryCopy) async throws -> Result
    ) async throws -> Result {
        let handle = try await makeMemoryCopy(of: id, context)
        let number = activeViews.add(handle.protection) { [weak handle] in handle?.revoke() }
        defer {
            activeViews.unregister(number)
            handle.revoke()
        }
        // A lock before the registration did not revoke the copy.
        try handle.check()
        options.afterLimit { [weak handle] in handle?.revoke() }
        return try await body(
            MemoryCopy(
                descriptor: handle.file.number, path: FilePath("/proc/self/fd/\(handle.file.number)"),
                length: handle.length, isSwappable: Self.isSwapActive))
    }

    private func makeMemoryCopy(
        of id: FileID, _ context: [UInt8]
    ) async throws(CofferError) -> MemoryCopyHandle {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try core.managed.policy().requireOpenIn()
            let mark = core.keys.mark
            let reader = try open(id, context: context)
            let check = try cancellationCheck(cancellation, since: mark, only: reader.protection)
            try MemoryBudget.check(reader.layout.length, inFileSystem: nil)
            let memory = try Descriptor.sealableMemory()
            try reader.copy(into: memory, check: check)
            try memory.setPermissions(0o400)
            try memory.seal()
            try check()
            return MemoryCopyHandle(
                try memory.reopenedForReading(), length: reader.layout.length,
                protection: reader.protection, check: check)
        }
    }
}

/// The open file that holds a decrypted copy.
private final class MemoryCopyHandle: Sendable {
    let file: Descriptor
    let length: Int64
    let protection: ProtectionClass
    let check: @Sendable () throws(CofferError) -> Void

    init(
        _ file: consuming Descriptor, length: Int64, protection: ProtectionClass,
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) {
        self.file = file
        self.length = length
        self.protection = protection
        self.check = check
    }

    /// Makes the descriptor number refer to an empty file.
    func revoke() { file.replaceWithEmptyFile() }
}
