public import CofferBase
import CofferEngine
public import CofferVault

/// Methods that give stored files another protection class. The index determines a file's class: it changes
/// first, and then the container. If a crash comes in between, the next reader of the file changes the
/// container.
extension FileStore {
    /// Gives files another protection class. Each file takes only a short time, regardless of its size.
    ///
    /// The content, name and date stay the same. After a crash, each file has either its former class or the
    /// new one, and the call can be repeated. A copy of the vault that was made earlier still contains the
    /// files in their former classes.
    ///
    /// As for tokens, a class that protects a file less requires the passcode, if one is set; see
    /// ``TokenStore/reclassify(_:to:passcode:)``.
    ///
    /// - Parameters:
    ///   - ids: The files' identifiers; `nil` for all files.
    ///   - protection: The new class.
    ///   - context: The context that was bound to the files when they were added. A file that is bound to a
    ///     context keeps its class if `context` is empty.
    ///   - passcode: The vault's passcode, if the change requires it. It counts as an attempt to unlock.
    ///   - progress: A closure that is called after each file with the progress so far.
    /// - Returns: The numbers of files that changed and that already had the class, and the files that kept
    ///   another class.
    /// - Throws: `absent` if one of `ids` does not exist; `missing` if another program deleted the file's
    ///   container; `locked` unless all classes concerned are unlocked, or if the passcode is required and
    ///   was not passed; `refused` if the new class requires a passcode and none is set; `wrongPasscode` and
    ///   `attemptDelayed`; `corrupt` if the index is damaged, or if `context` is the wrong one; `cancelled`
    ///   if the task was cancelled; `wiped`, `busy`, `noSpace` or `readOnly`.
    public func reclassify(
        _ ids: [FileID]? = nil, to protection: ProtectionClass, context: [UInt8] = [],
        passcode: Passcode? = nil, progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> Reclassification<FileID> {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            _ = try core.keyForStoring(protection)
            let all = if let ids { ids } else { try self.ids().sorted() }
            let isVerified = try verify(passcode, for: all, to: protection)
            var report = Reclassification<FileID>()
            for (number, id) in all.enumerated() {
                try check()
                switch try reclassify(id, to: protection, context, isVerified: isVerified) {
                case .changed: report.changed += 1
                case .unchanged: report.unchanged += 1
                case .kept(let reason): report.keep(id, reason)
                // Without a list of files, a file that was removed meanwhile is not an error.
                case .absent: if ids != nil { throw try absence(of: id) }
                }
                progress?(BatchProgress(completed: number + 1, total: all.count))
            }
            return report
        }
    }

    private enum Outcome {
        case changed, unchanged, absent
        case kept(KeptClassReason)
    }

    /// Verifies the passcode if the change would give one of the files a class that protects it less. Returns
    /// whether such a change is permitted.
    private func verify(
        _ passcode: Passcode?, for ids: [FileID], to protection: ProtectionClass
    ) throws(CofferError) -> Bool {
        try core.verifyingIfWeaker(passcode) { (vault, isVerified) throws(CofferError) -> Bool? in
            guard !isVerified else { return true }
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            for id in ids {
                guard let file = try? directory.openContainer(id.fileName, .read),
                    let old = try? ContainerReader.protection(of: file, device: core.device, keys: keys)
                else { continue }
                if protection.isWeaker(than: old) { return nil }
            }
            return false
        }
    }

    /// Gives one file the class, under the vault directory's lock.
    private func reclassify(
        _ id: FileID, to protection: ProtectionClass, _ context: [UInt8], isVerified: Bool
    ) throws(CofferError) -> Outcome {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            guard try directory.hasContainer(id.fileName) else { return .absent }
            do throws(CofferError) {
                try completeReclassification(of: id, context, directory, in: vault)
                return try reclassify(id, to: protection, context, isVerified: isVerified, directory, vault)
            } catch {
                switch error.code {
                case .corrupt where error.remedy == FileIndex.corruptError.remedy: throw error
                case .corrupt, .foreign, .unsupportedVersion: return .kept(.unreadable)
                default: throw error
                }
            }
        }
    }

    private func reclassify(
        _ id: FileID, to protection: ProtectionClass, _ context: [UInt8], isVerified: Bool,
        _ directory: borrowing Descriptor, _ vault: borrowing Descriptor
    ) throws(CofferError) -> Outcome {
        let record = FileKeysetRecord(device: core.device)
        let file = try directory.openContainer(id.fileName, .readWrite)
        let keys = try record.read(in: vault).keys
        let (header, old) = try ContainerReader.header(of: file, id: id, device: core.device, keys: keys)
        guard old != protection else { return .unchanged }
        if header.keeper != nil { return .kept(.sessionOnly) }
        if old.requiresPasscode { return .kept(.passcodeDependent) }
        if header.isContextBound, context.isEmpty { return .kept(.contextBound) }
        guard isVerified || !protection.isWeaker(than: old) else {
            throw CofferError.weakerClassNeedsPasscode
        }
        _ = try record.current(protection, classKey: core.keyForStoring(protection), in: vault)
        if keys.hasIndex {
            try checkEntry(of: header, old)
            let contents = try index.snapshot(in: vault)
            // The name in the index is the current one.
            let found = try index.records(of: [id], in: contents) { (protection) throws(CofferError) in
                try core.keys.key(protection)
            }
            guard let one = found.first else { throw FileIndex.corruptError }
            try index.add(one.record, protection, in: vault) { (protection) throws(CofferError) in
                try core.keys.key(protection)
            }
        }
        try change(file, id, to: protection, context, in: vault)
        return .changed
    }

    /// Completes a change of the class that a crash interrupted: gives the container the class that the index
    /// lists. Does nothing if the index does not list the container or lists it with its own class.
    func completeReclassification(
        of id: FileID, _ context: [UInt8], _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
        guard keys.hasIndex, try directory.hasContainer(id.fileName),
            let entry = try index.salvage(in: vault).entries[id], let listed = entry.protectionClass
        else { return }
        let file = try directory.openContainer(id.fileName, .readWrite)
        let (header, own) = try ContainerReader.header(of: file, id: id, device: core.device, keys: keys)
        guard own != listed, header.keeper == nil, entry.commitment == header.commitment,
            entry.generation == header.contentGeneration,
            entry.protection == FileIndexFrame.field(listed, isVolatile: false)
        else { return }
        let record = FileKeysetRecord(device: core.device)
        _ = try record.current(listed, classKey: core.keys.key(listed), in: vault)
        try change(file, id, to: listed, context, in: vault)
    }

    private func change(
        _ file: borrowing Descriptor, _ id: FileID, to protection: ProtectionClass, _ context: [UInt8],
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
        let change = ContainerReclassification(
            device: core.device, keys: keys, protection: protection, context: context)
        try change.apply(to: file, id: id) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
    }
}
