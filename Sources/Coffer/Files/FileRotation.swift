public import CofferBase
import CofferEngine

extension FileStore {
    /// Wraps the keys of one file anew, under the current keys. Takes the same short time whatever its size.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - context: What was bound to it when it was added; without it only the outer layer is wrapped anew.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`, `noSpace`, `readOnly`.
    public func rewrap(_ id: FileID, context: [UInt8] = []) async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard try rewrap(id, context: context, always: true) != nil else {
                throw try absence(of: id)
            }
        }
    }

    /// Replaces the keys under which the keys of files are wrapped: makes new ones, wraps every file's keys
    /// anew and then destroys the old ones. From then on a copy of a container that was made before, of a
    /// removed file too, opens with nothing that is left.
    ///
    /// It takes a short time for each file whatever its size, and can be interrupted at any point: files stay
    /// readable all the time, and the next call goes on where this one stopped. Adding files meanwhile is
    /// fine.
    ///
    /// Not guaranteed: a copy of the vault's own records, made before, still holds the old keys, as do old
    /// blocks of flash memory and copy-on-write file systems. Files added by a release without replaceable
    /// keys are freed from them by this; copies made of them before are not.
    ///
    /// - Parameter progress: Called after each file.
    /// - Returns: What was done.
    /// - Throws: `locked` unless every class is open; `busy` when files are being added all the time: the old
    ///   keys stay until the next call; `wiped`, `noSpace`, `readOnly`, `cancelled`.
    public func rotateKeys(
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> KeyRotationReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = try cancellationCheck(cancellation)
            try beginRotation()
            let all = try ids().sorted { $0.description < $1.description }
            var report = KeyRotationReport()
            for (number, id) in all.enumerated() {
                try check()
                do throws(CofferError) {
                    switch try rewrap(id, context: [], always: false) {
                    case .rewrapped, .outerOnly: report.rewrapped += 1
                    case .unchanged, nil: break
                    }
                } catch {
                    switch error.code {
                    case .corrupt, .foreign, .unsupportedVersion: report.unreadable.append(id)
                    default: throw error
                    }
                }
                progress?(BatchProgress(completed: number + 1, total: all.count))
            }
            if report.unreadable.isEmpty { report.destroyedKeys = try endRotation(check) }
            return report
        }
    }

    /// Rewraps one container under the home's lock; `nil` when there is none.
    private func rewrap(
        _ id: FileID, context: [UInt8], always: Bool
    ) throws(CofferError) -> ContainerRewrap.Outcome? {
        let classKey = { [core] (protection: ProtectionClass) throws(CofferError) in
            try core.keys.key(protection)
        }
        return try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            guard try directory.status(of: id.fileName) != nil else { return nil }
            let file = try directory.open(id.fileName, .readWrite)
            let record = FileKeysetRecord(device: core.device)
            var keys = try record.read(in: vault).keys
            let protection = try ContainerHeader.read(file, keys: keys, device: core.device).newest.protection
            _ = try record.current(protection, classKey: classKey(protection), in: vault)
            keys = try record.read(in: vault).keys
            return try ContainerRewrap(device: core.device, keys: keys, context: context).rewrap(
                file, id: id, always: always, classKey: classKey)
        }
    }

    /// Makes new current keys, unless a rotation is under way.
    private func beginRotation() throws(CofferError) {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let record = FileKeysetRecord(device: core.device)
            var contents = try record.read(in: vault, repairing: true)
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

    /// Destroys the keys that no container is wrapped under any more; gives how many. Waits for files that
    /// are being added, which may be under the old keys.
    private func endRotation(
        _ check: @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) -> Int {
        let end = Clock.sinceBoot + VaultDirectory.lockDeadline
        while true {
            try check()
            if let count = try destroyUnusedKeys() { return count }
            guard Clock.sinceBoot < end else {
                throw CofferError(.busy, "Files are being added: the old keys stay until the next rewrap.")
            }
            Clock.sleep(for: .milliseconds(20))
        }
    }

    /// `nil` while a file is being added.
    private func destroyUnusedKeys() throws(CofferError) -> Int? {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let directory = try vault.open(VaultDirectory.filesName, [.read, .directory])
            try cleanUp(directory, in: vault)
            guard try Self.unfinished(in: directory).isEmpty else { return nil }
            let record = FileKeysetRecord(device: core.device)
            var contents = try record.read(in: vault, repairing: true)
            var used: Set<[UInt8]> = []
            for id in try ids() {
                let file = try directory.open(id.fileName, .read)
                used.formUnion(
                    try ContainerRewrap(device: core.device, keys: contents.keys).keysUsed(by: file))
            }
            let protectors = core.keys.all.values.map(\.id) + [core.device.vaultID.bytes]
            let count = contents.keys.drop(notIn: used, protectors: Set(protectors))
            contents.keys.isRotating = false
            try record.write(contents, in: vault)
            return count
        }
    }
}
