public import CofferBase
import CofferEngine
import CofferVault

extension FileStore {
    /// Verifies every chunk of every file, and compares the containers with the index. For a file that is
    /// bound to a context, checks only the header. Does not change any stored file.
    ///
    /// - Parameter progress: A closure that is called after each file with the progress so far.
    /// - Returns: A report on the stored files.
    /// - Throws: `locked` unless every class is unlocked; `wiped`; `cancelled` if the task was cancelled;
    ///   `corrupt` if the index itself is damaged, in which case ``reindex()`` rebuilds it.
    public func verifyAll(
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> IntegrityReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            let (present, entries) = try compare()
            var report = IntegrityReport()
            if let entries {
                report.missing = Set(entries.keys).subtracting(present).sorted()
                report.orphans = present.filter { entries[$0] == nil }.sorted()
            }
            let known = present.subtracting(report.orphans).sorted()
            for (number, id) in known.enumerated() {
                try verify(id, check, &report)
                progress?(BatchProgress(completed: number + 1, total: known.count))
            }
            return report
        }
    }

    /// Returns the containers and the index entries as of one point in time; the entries are `nil` if there
    /// is no index yet.
    private func compare() throws(CofferError) -> (Set<FileID>, [FileID: FileIndex.Entry]?) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            try cleanUp(directory, in: vault)
            let hasIndex = try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex
            let entries = hasIndex ? try index.snapshot(in: vault).entries : nil
            // A file that is being added is in the index before its container appears.
            let unfinished = Set(try Self.unfinished(in: directory).compactMap { FileID(temporaryName: $0) })
            let present = Set(try ids())
            return (
                present, entries?.filter { !unfinished.contains($0.key) || present.contains($0.key) }
            )
        }
    }

    private func verify(
        _ id: FileID, _ check: @escaping @Sendable () throws(CofferError) -> Void,
        _ report: inout IntegrityReport
    ) throws(CofferError) {
        do throws(CofferError) {
            let file = try openContainer(id, .read)
            let header = try ContainerReader.header(
                of: file, id: id, device: core.device, keys: fileKeys()
            ).header
            guard !header.isContextBound else { return report.contextNeeded.append(id) }
            try open(id).verify(check: check, progress: nil)
            report.authentic += 1
        } catch {
            switch error.code {
            case .absent: break  // Removed in the meantime, or of another session.
            case .missing: report.missing.append(id)
            case .corrupt, .foreign, .unsupportedVersion: report.corrupt.append(id)
            default: throw error
            }
        }
    }
}
