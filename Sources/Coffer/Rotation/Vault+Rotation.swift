public import CofferBase
import CofferEngine
public import CofferVault

extension Vault {
    /// Replaces class keys: creates new ones, wraps the keys of all items under them, and destroys the old
    /// ones. Afterwards, an older copy of the keybag with its passcode opens nothing that is written from
    /// then on.
    ///
    /// Tokens, pending tokens, files and the keys of databases change; their contents are not encrypted
    /// again. An older copy of the *whole* vault therefore still shows what it contains, and, because the
    /// keys of databases themselves stay the same, the later content of those databases
    /// (``RotationReport/databases``), until `Vault.rotateDatabaseKeys` replaces them. If the passcode is
    /// known to someone else, replace it, too, with `newPasscode`: with the old passcode, the current keybag
    /// would open.
    ///
    /// The vault stays usable meanwhile. A process that unlocked the vault before gets the new keys if they
    /// are cached in the kernel keyring or if no passcode is set, also for a file that it is adding.
    /// Otherwise its keys are evicted (``LockReason/keysReplaced``), tokens that it stores are pending until
    /// the next unlock, and adding a file fails with `locked` and changes nothing. Session-only files that
    /// are kept in the kernel keyring end, as with a lock.
    ///
    /// The rotation can be interrupted at any point: the keybag has both generations of keys until every item
    /// is rewrapped, and the next unlock goes on. Earlier releases refuse to open the vault in the meantime.
    ///
    /// Each user's namespace has its own keys: rotate them with its own `Vault`.
    ///
    /// - Parameters:
    ///   - classes: The classes whose keys to replace; `nil` for all. If a rotation was interrupted, it is
    ///     finished first; if it covers these classes and `newPasscode` is `nil`, that is all.
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    ///   - newPasscode: A new passcode, set in the same step; `nil` to keep the passcode.
    ///   - progress: A closure that is called after each batch of files with the progress so far.
    /// - Returns: A report on the rotation.
    /// - Throws: The errors that ``unlock(with:)`` throws; `refused` if the policy does not allow the new
    ///   passcode, or if a new passcode is given and none is set; `unsupportedVersion` if a newer release
    ///   stored a pending token, in which case nothing changes; `corrupt` if the index of files is damaged or
    ///   something that is no regular file has the name of a container, and `busy` if files are still being
    ///   added after this method has waited. After these two errors, the vault has both generations of keys
    ///   until a later unlock or call finishes the rotation.
    public func rotateKeys(
        of classes: [ProtectionClass]? = nil, passcode: Passcode? = nil, newPasscode: Passcode? = nil,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> RotationReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let rotation = KeyRotation(core, files)
            let check = try files.cancellationCheck(cancellation)
            if !core.keys.isUnlocked || core.keys.isPartial { try core.unlock(with: passcode) }
            if let interrupted = try rotation.finish(check: check, progress: progress) {
                guard interrupted.isComplete else { return interrupted }
                let isEnough = classes.map { Set(interrupted.classes).isSuperset(of: $0) } ?? true
                if newPasscode == nil, isEnough { return interrupted }
            }
            try rotation.begin(classes, passcode: passcode, newPasscode: newPasscode)
            if let report = try rotation.finish(check: check, progress: progress) { return report }
            // Another process has finished this rotation.
            var report = RotationReport()
            report.isComplete = true
            return report
        }
    }

    /// Goes on with a rotation of keys that was interrupted. Every unlock does this, too, but without a
    /// report.
    ///
    /// - Parameter progress: A closure that is called after each batch of files with the progress so far.
    /// - Returns: A report on what this call did; `nil` if no rotation was in progress.
    /// - Throws: `locked` unless the classes concerned are unlocked; otherwise the errors that
    ///   ``rotateKeys(of:passcode:newPasscode:progress:)`` throws.
    public func resumeKeyRotation(
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws(CofferError) -> RotationReport? {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try KeyRotation(core, files).finish(
                check: files.cancellationCheck(cancellation), progress: progress)
        }
    }

    /// Goes on with an interrupted rotation after an unlock. An error here recurs, and is reported, when the
    /// caller resumes the rotation.
    func continueRotation() {
        guard core.keys.all.values.contains(where: { $0.former != nil }) else { return }
        _ = try? KeyRotation(core, files).finish(check: {}, progress: nil)
    }
}
