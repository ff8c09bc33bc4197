public import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

extension FileStore {
    /// Rewraps one file's keys under the current keys. The operation is fast, regardless of the file's size.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - context: The context that was bound to the file when it was added. If the context is empty but the
    ///     file is bound to one, only the outer layer is rewrapped.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`, `noSpace`; `readOnly` if the vault's file system is
    ///   read-only.
    public func rewrap(_ id: FileID, context: [UInt8] = []) async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard try rewrap(id, context: context, always: true) != nil else {
                throw try absence(of: id)
            }
        }
    }

    /// Replaces the keys that wrap file keys: creates new keys, rewraps every file's keys and then destroys
    /// the old keys. Afterwards, no remaining key can open a copy of a container that was made before the
    /// rotation, not even a copy of a removed file.
    ///
    /// Each file takes only a short time, regardless of its size; up to 64 files are open at the same time,
    /// because a disk flushes many files together faster. During the rotation, files remain readable,
    /// and new files can be added. The rotation can be interrupted at any point, and the next call continues
    /// where this one stopped.
    ///
    /// A copy of the vault's own records that was made before the rotation still contains the old keys, and
    /// so may old blocks on flash memory or a copy-on-write file system. Files that were added by a release
    /// without replaceable keys are rewrapped under replaceable keys, but copies of those files that were
    /// made before the rotation can still be opened.
    ///
    /// - Parameter progress: A closure that is called after each group of files with the progress so far.
    /// - Returns: A report on the rotation.
    /// - Throws: `locked` unless every class is unlocked; `busy` if files are still being added after this
    ///   method has waited, and `corrupt` if something that is no regular file has the name of a container,
    ///   in which cases the old keys stay until the next call; `wiped`, `noSpace`; `readOnly` if the vault's
    ///   file system is read-only; `cancelled` if the task was cancelled.
    public func rotateKeys(
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> KeyRotationReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try replaceKeys(check: cancellationCheck(cancellation), progress: progress)
        }
    }

    /// Replaces the keys that wrap file keys, as ``rotateKeys(progress:)`` describes.
    func replaceKeys(
        check: @Sendable () throws(CofferError) -> Void, progress: (@Sendable (BatchProgress) -> Void)?
    ) throws(CofferError) -> KeyRotationReport {
        try beginRotation()
        let all = try ids().sorted()
        var report = KeyRotationReport()
        var done = 0
        while done < all.count {
            try check()
            done += try rewrap(all[done..<min(done + Self.batchSize, all.count)], &report)
            progress?(BatchProgress(completed: done, total: all.count))
        }
        try Self.requireContainers(in: openDirectory())
        if report.unreadable.isEmpty { report.destroyedKeys = try endRotation(check) }
        return report
    }

    /// The number of files that are rewrapped while the vault directory's lock is held once, and are open at
    /// the same time.
    private static let batchSize = 64

    /// Rewraps the keys of several files under one hold of the vault directory's lock. Returns how many files
    /// are done: after a system error, such as a shortage of descriptors, only those before it, unless it was
    /// the first.
    private func rewrap(
        _ ids: ArraySlice<FileID>, _ report: inout KeyRotationReport
    ) throws(CofferError) -> Int {
        let result = try core.home.withExclusiveVault {
            (vault) throws(CofferError) -> (done: Int, rewrapped: Int, unreadable: [FileID]) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            var batch = try RewrapBatch(core, in: vault)
            var (done, rewrapped, unreadable) = (0, 0, [FileID]())
            for id in ids {
                do throws(CofferError) {
                    switch try batch.add(id, directory, in: vault) {
                    case .rewrapped, .outerOnly: rewrapped += 1
                    case .unchanged, nil: break
                    }
                } catch {
                    switch error.code {
                    case .corrupt, .foreign, .unsupportedVersion: unreadable.append(id)
                    case _ where error.systemError != nil && done > 0:
                        try batch.write()
                        return (done, rewrapped, unreadable)
                    default: throw error
                    }
                }
                done += 1
            }
            try batch.write()
            return (done, rewrapped, unreadable)
        }
        report.rewrapped += result.rewrapped
        report.unreadable += result.unreadable
        return result.done
    }

    /// Rewraps one container's keys while holding the vault directory's lock; returns `nil` if the container
    /// does not exist.
    private func rewrap(
        _ id: FileID, context: [UInt8], always: Bool
    ) throws(CofferError) -> ContainerRewrap.Outcome? {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            var batch = try RewrapBatch(core, in: vault)
            let outcome = try batch.add(id, context: context, always: always, directory, in: vault)
            try batch.write()
            return outcome
        }
    }

    /// The keys for rewrapping several containers while the vault directory's lock is held, and their new
    /// headers.
    private struct RewrapBatch {
        private let core: VaultCore
        private var headers = HeaderBatch()
        private var keys: FileKeyset
        /// The classes whose current keys exist.
        private var ready: Set<ProtectionClass> = []

        init(_ core: VaultCore, in vault: borrowing Descriptor) throws(CofferError) {
            try core.refreshKeys()
            self.core = core
            keys = try Self.keys(FileKeysetRecord(device: core.device), in: vault)
        }

        private static func keys(
            _ record: FileKeysetRecord, in vault: borrowing Descriptor
        ) throws(CofferError) -> FileKeyset {
            var keys = try record.read(in: vault).keys
            keys.keepUnwrapped()
            return keys
        }

        /// Adds one container with rewrapped keys; returns `nil` if the container does not exist.
        mutating func add(
            _ id: FileID, context: [UInt8] = [], always: Bool = false, _ directory: borrowing Descriptor,
            in vault: borrowing Descriptor
        ) throws(CofferError) -> ContainerRewrap.Outcome? {
            guard try directory.hasContainer(id.fileName) else { return nil }
            let file = try directory.openContainer(id.fileName, .readWrite)
            let slots = try ContainerHeader.read(file, keys: keys, device: core.device)
            let protection = slots.newest.protection
            if !ready.contains(protection) {
                let record = FileKeysetRecord(device: core.device)
                _ = try record.current(protection, classKey: core.keys.key(protection), in: vault)
                keys = try Self.keys(record, in: vault)
                ready.insert(protection)
            }
            let rewrap = ContainerRewrap(device: core.device, keys: keys, context: context)
            let (outcome, header) = try rewrap.newHeader(
                replacing: slots, id: id, always: always, classKey: core.keys.key(protection))
            if let header { headers.add(header, of: file) }
            return outcome
        }

        /// Writes the headers of all added containers.
        func write() throws(CofferError) { try headers.write() }
    }

    /// Creates new current keys, unless a rotation is already in progress.
    private func beginRotation() throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let record = FileKeysetRecord(device: core.device)
            var contents = try record.read(in: vault, repairing: true)
            try core.refreshKeys()
            guard !contents.keys.isRotating else { return }
            contents.keys.isRotating = true
            try contents.keys.addOuter(core.device)
            // A class whose key was destroyed with the passcode has no files.
            let hasPasscode = try core.readKeybag().passcode != nil
            for protection in contents.keys.classes where hasPasscode || !protection.requiresPasscode {
                try contents.keys.addInner(
                    protection, classKey: core.keys.key(protection), vaultID: core.device.vaultID)
            }
            try record.write(contents, in: vault)
        }
    }

    /// Destroys the keys that no container uses any longer, and returns the number of destroyed keys. Waits
    /// for files that are being added, because they may use the old keys.
    private func endRotation(
        _ check: @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) -> Int {
        let end = Clock.sinceBoot + VaultDirectory.lockDeadline
        while true {
            try check()
            if let count = try destroyUnusedKeys() { return count }
            guard Clock.sinceBoot < end else {
                throw CofferError(
                    .busy,
                    "The old keys could not be destroyed because files are being added. The next key "
                        + "rotation will destroy the old keys.")
            }
            Clock.sleep(for: .milliseconds(20))
        }
    }

    /// Throws `corrupt` if an entry of `directory` has the name of a container and is no regular file. A link
    /// may lead to a container that needs the old keys, and a container may return to where a directory is.
    private static func requireContainers(in directory: borrowing Descriptor) throws(CofferError) {
        for entry in try directory.entries() where !entry.isRegular && FileID(fileName: entry.name) != nil {
            // Another program may have removed the entry since.
            guard let found = try directory.status(of: entry.name), found.kind != .regular else { continue }
            throw CofferError(
                .corrupt,
                "\(directory.path.pushing(entry.name)) is not a regular file. A container may belong in its "
                    + "place, so the old keys were not destroyed. Move the entry away, then run the rotation "
                    + "again.")
        }
    }

    /// Destroys the keys that no file uses, and returns the number of destroyed keys. While a file is being
    /// added, destroys nothing and returns `nil`.
    private func destroyUnusedKeys() throws(CofferError) -> Int? {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            try cleanUp(directory, in: vault)
            guard try Self.unfinished(in: directory).isEmpty else { return nil }
            let record = FileKeysetRecord(device: core.device)
            var contents = try record.read(in: vault, repairing: true)
            try Self.requireContainers(in: directory)
            var keys = contents.keys
            keys.keepUnwrapped()
            let rewrap = ContainerRewrap(device: core.device, keys: keys)
            var used: Set<[UInt8]> = []
            for name in try directory.names() where FileID(fileName: name) != nil {
                let file = try directory.openContainer(name, .read)
                used.formUnion(try rewrap.keysUsed(by: file))
            }
            for (protection, classKey) in core.keys.all where classKey.former != nil {
                try contents.keys.takeOver(
                    used, of: protection, by: classKey, vaultID: core.device.vaultID)
            }
            let protectors = core.keys.all.values.map(\.id) + [core.device.vaultID.bytes]
            let count = contents.keys.drop(notIn: used, protectors: Set(protectors))
            contents.keys.isRotating = false
            try record.write(contents, in: vault)
            return count
        }
    }
}
