import CofferBase
import CofferEngine

extension FileStore {
    /// Calls `body` with a decrypted copy, as ``withViewCopy(of:context:options:_:)`` does, and then seals
    /// the changes to the copy as the file's new content, completely or not at all. The closure may write to
    /// the copy in place or, as editors do, replace it with another file that has the same name. If `body`
    /// throws, the changes are discarded with the copy.
    ///
    /// If the file was changed or removed in the vault in the meantime, the vault keeps the newer state, and
    /// the edited content is added as a separate file with the same name. In that case, this method throws
    /// `conflict`, with the separate file's identifier in `entries`.
    ///
    /// If the vault locks or the time limit expires, the copy is revoked, and any changes to it are lost.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added.
    ///   - options: The options for the copy, such as a time limit.
    ///   - body: A closure that edits the copy.
    /// - Returns: The result of `body`, and an outcome that indicates whether changes were saved.
    /// - Throws: The errors that ``withViewCopy(of:context:options:_:)`` throws; `conflict` if the file was
    ///   changed or removed in the vault in the meantime; `absent` if the copy was removed and not replaced;
    ///   `refused` if something other than a regular file that belongs to this user replaced it, if the file
    ///   is session-only, or, before `body` is called, if ``VaultSettings/requiresDiskEncryption`` is on and
    ///   the vault's disk is not known to be encrypted; `locked` or `timedOut` if the copy was revoked; and
    ///   the errors that adding a file throws. If this method throws any of these errors, the stored file is
    ///   unchanged.
    public func withEditableCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions = ViewOptions(),
        _ body: (ViewCopy) async throws -> Result
    ) async throws -> (result: Result, outcome: EditOutcome) {
        // Before anything is edited, so that no edits are lost.
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.checkRequiredDiskEncryption()
        }
        return try await withCopy(of: id, context, options, permissions: 0o600) { copy, reader in
            guard reader.header.keeper == nil else {
                throw CofferError(.refused, "A session-only file cannot be changed: add it again.")
            }
            let result = try await body(copy)
            let handle = copy.handle
            let outcome = try await BlockingExecutor.run {
                [self] cancellation throws(CofferError) -> EditOutcome in
                try handle.check()
                guard handle.isChanged else { return .unchanged }
                let isUnlocked = try cancellationCheck(cancellation)
                try saveEdits(handle, replacing: reader, context) { () throws(CofferError) in
                    try isUnlocked()
                    try handle.check()
                }
                return .saved
            }
            return (result, outcome)
        }
    }

    private func saveEdits(
        _ handle: ViewCopyHandle, replacing reader: ContainerReader, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        let edited = try handle.edited()
        do throws(CofferError) {
            try replaceContent(of: reader, by: edited, context, check: check)
        } catch {
            guard error.code == .conflict else { throw error }
            // Keep the edited content as a separate file, so that it is not lost.
            let other = try addConflictCopy(reader, edited, context, check: check)
            throw CofferError(
                .conflict,
                "The file was changed or removed in the vault during editing, so the edited copy was stored "
                    + "as a separate file with the id \(other).", entries: [other.description])
        }
    }

    private func addConflictCopy(
        _ reader: ContainerReader, _ source: borrowing Descriptor, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) -> FileID {
        let id = try FileID.random()
        let name = try currentName(of: reader)
        try addContainer(id, reader.protection, context, check) { (target, keys) throws(CofferError) in
            var writer = ContainerWriter(
                id: id, device: core.device, classKey: keys.classKey, protection: reader.protection,
                suite: reader.suite, context: context, outerKEK: keys.outer, innerKEK: keys.inner)
            writer.mediaType = reader.header.mediaType
            return try writer.seal(
                source, name: name, into: target, check: check, progress: nil)
        }
        return id
    }
}
