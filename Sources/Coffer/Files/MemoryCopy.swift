import CofferBase
import CofferEngine
public import SystemPackage

/// A decrypted copy in a file in memory that has no name and that nobody can change, as
/// ``FileStore/withMemoryCopy(of:context:options:_:)`` lends it.
public struct MemoryCopy: Sendable {
    /// The number of the open file in this process. Let a child inherit it to view the copy; what has it open
    /// keeps it, after a lock too.
    public let descriptor: Int32

    /// A path for what takes no descriptor, in this process, and in a child that has inherited the number:
    /// `/proc/self/fd/` and the number.
    public let path: FilePath

    /// The length in bytes.
    public let length: Int64

    /// Whether memory may be written to a swap device that keeps it readable.
    public let isSwappable: Bool
}

extension FileStore {
    /// Gives `body` the decrypted content as an open file in memory, sealed against changes: for code that
    /// takes a descriptor, or a path and no particular name. Nothing is left to clean up when this process is
    /// killed: the kernel drops the file with the last process that has it open.
    ///
    /// When the session locks or the time is up, the number stands for an empty file from then on. Who has
    /// opened the copy before keeps it.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added.
    ///   - options: When the copy goes by itself.
    ///   - body: What views the copy.
    /// - Returns: What `body` gives.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`; `noSpace` when the copy would take more than half of
    ///   the free memory; and what `body` throws.
    public func withMemoryCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions = ViewOptions(),
        _ body: (MemoryCopy) async throws -> Result
    ) async throws -> Result {
        let hold = try await makeMemoryCopy(of: id, context)
        let number = openViews.add(hold.protection) { [weak hold] in hold?.revoke() }
        defer {
            openViews.forget(number)
            hold.revoke()
        }
        // A lock before this did not know of the copy.
        try hold.check()
        if let limit = options.limit { hold.end(after: limit) }
        return try await body(
            MemoryCopy(
                descriptor: hold.file.number, path: FilePath("/proc/self/fd/\(hold.file.number)"),
                length: hold.length, isSwappable: Self.isSwapActive))
    }

    private func makeMemoryCopy(
        of id: FileID, _ context: [UInt8]
    ) async throws(CofferError) -> MemoryCopyHandle {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
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

/// The open file of a sealed copy.
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

    /// The number stands for nothing from here on.
    func revoke() { file.blank() }

    func end(after limit: Duration) {
        ViewTimer.after(limit) { [weak self] in self?.revoke() }
    }
}
