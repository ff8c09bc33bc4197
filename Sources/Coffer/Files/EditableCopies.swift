import CofferBase
import CofferEngine

extension FileStore {
    /// As ``withViewCopy(of:context:options:_:)``, and what was changed in the copy is sealed as the file's
    /// new content when `body` ends: all of it or nothing. The copy may be written to in place, or replaced
    /// by another file of its name, as editors do. When `body` throws, the change is dropped with the copy.
    ///
    /// When the file was changed or removed in the vault meanwhile, it stays as it is, and what was edited is
    /// added as a file of its own under the same name: `conflict`, with the new id in the error's `entries`.
    ///
    /// Not guaranteed: a lock or the end of the time takes the copy back, and what was changed in it is gone.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added.
    ///   - options: When the copy goes by itself.
    ///   - body: What edits the copy.
    /// - Returns: What `body` gives, and whether there was anything to save.
    /// - Throws: As when viewing; `conflict`; `absent` when the copy was removed and nothing is in its place;
    ///   `refused` when something else than a file is; `locked` or `timedOut` when the copy was taken back;
    ///   what adding throws. The file is as before then.
    public func withEditableCopy<Result>(
        of id: FileID, context: [UInt8] = [], options: ViewOptions = ViewOptions(),
        _ body: (ViewCopy) async throws -> Result
    ) async throws -> (result: Result, outcome: EditOutcome) {
        try await withCopy(of: id, context, options, permissions: 0o600) { copy, reader in
            let result = try await body(copy)
            let hold = copy.hold
            let outcome = try await BlockingExecutor.run {
                [self] cancellation throws(CofferError) -> EditOutcome in
                try hold.check()
                guard hold.isChanged else { return .unchanged }
                let isUnlocked = try cancellationCheck(cancellation)
                try saveEdits(hold, replacing: reader, context) { () throws(CofferError) in
                    try isUnlocked()
                    try hold.check()
                }
                return .saved
            }
            return (result, outcome)
        }
    }

    private func saveEdits(
        _ hold: ViewCopyHandle, replacing reader: ContainerReader, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        let edited = try hold.edited()
        do throws(CofferError) {
            try replaceContent(of: reader, by: edited, context, check: check)
        } catch {
            guard error.code == .conflict else { throw error }
            // Nothing of what was edited gets lost: it becomes a file of its own.
            let other = try addConflictCopy(reader, edited, context, check: check)
            throw CofferError(
                .conflict,
                "The file was changed or removed in the vault meanwhile and stays so; what was edited is "
                    + "kept as \(other).", entries: [other.description])
        }
    }

    private func addConflictCopy(
        _ reader: ContainerReader, _ source: borrowing Descriptor, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) -> FileID {
        let id = try FileID.random()
        let classKey = try core.keyForStoring(reader.protection)
        try addContainer(id, reader.protection, classKey, check) {
            (target, outer, inner) throws(CofferError) in
            var writer = ContainerWriter(
                id: id, device: core.device, classKey: classKey, protection: reader.protection,
                suite: reader.suite, context: context, outerKEK: outer, innerKEK: inner)
            writer.mediaType = reader.header.mediaType
            return try writer.seal(
                source, name: reader.header.name, into: target, check: check, progress: nil)
        }
        return id
    }
}
