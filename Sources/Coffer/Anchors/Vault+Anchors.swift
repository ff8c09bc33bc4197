public import CofferBase
import CofferEngine
public import CofferVault

/// Anchors: what notices that somebody put back an older copy of the vault directory.
extension Vault {
    /// Keeps the vault's number in the file at `path` or, if it is `nil`, in the kernel's user keyring, from
    /// now on. A vault has at most one anchor of each kind; another file takes the place of an earlier one.
    ///
    /// Every change of the passcode, the settings, the files or the commands, and every attempt to unlock,
    /// raises the number, as do changes of tokens, at most once a second. Unlocking the vault, and using keys
    /// that are cached in the kernel keyring, then throws `rolledBack` if the vault's number is lower than an
    /// anchor's, and `anchorLost` if an anchor cannot be read, or not be written before a passcode is
    /// compared. Locking and wiping need no anchor.
    ///
    /// Put the file where someone who restores the vault directory does not restore it, too: on another disk,
    /// or in a directory of another user, who creates the file by restoring its content. It is not secret.
    ///
    /// - Parameters:
    ///   - path: The absolute path of a new file, or of this vault's anchor.
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    /// - Throws: `invalidInput` if the path is not absolute or too long; `refused` if it is in the vault
    ///   directory; `alreadyExists`; `anchorLost` if the anchor cannot be written; `unsupported` if the boot
    ///   of this machine is not known, for the kernel keyring; otherwise, the errors of ``unlock(with:)``.
    public func setAnchor(at path: String?, passcode: Passcode?) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.changeAnchors(passcode, acceptingOlder: false) { (record) throws(CofferError) in
                guard let path else {
                    guard core.clock.knowsBoot else {
                        throw CofferError(
                            .unsupported,
                            "The kernel's identifier of this boot cannot be read, so it would be unknown "
                                + "when the kernel keyring was emptied by a reboot.")
                    }
                    return record.usesKernelKeyring = true
                }
                guard path.utf8.hasPrefix("/"), path.utf8.count <= AnchorRecord.maxPathLength else {
                    throw CofferError(
                        .invalidInput,
                        "The path of an anchor must be absolute and at most \(AnchorRecord.maxPathLength) "
                            + "bytes long.")
                }
                record.path = Array(path.utf8)
            }
        }
    }

    /// Removes the file or, if `kind` is `kernelKeyring`, the key in the kernel keyring from the vault's
    /// anchors. Works also if the anchor is lost or says that the vault is an older copy.
    ///
    /// - Parameters:
    ///   - kind: The anchor's kind: `file`, `kernelKeyring` or `receipt`.
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    /// - Returns: Whether there was such an anchor.
    /// - Throws: `invalidInput` for `secretService`, which ends with ``migrateStorage(to:passcode:)``;
    ///   otherwise, the errors of ``unlock(with:)``.
    @discardableResult
    public func removeAnchor(
        _ kind: AnchorStatus.Kind, passcode: Passcode?
    ) async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.removeAnchor(kind, passcode)
        }
    }

    /// Accepts the vault directory as it is, and sets every anchor to it: after the owner restored a backup,
    /// or when an anchor is lost.
    ///
    /// - Parameter passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock.
    /// - Throws: `absent` if there is no anchor; `anchorLost` if one cannot be written: remove it with
    ///   ``removeAnchor(_:passcode:)``; otherwise, the errors of ``unlock(with:)``.
    public func resetAnchors(passcode: Passcode?) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.changeAnchors(passcode, acceptingOlder: true) { (record) throws(CofferError) in
                guard record.hasAnchor else { throw CofferError.noAnchor }
            }
        }
    }

    /// Returns a receipt of the vault's number, to be kept elsewhere, and counts changes from now on. You can
    /// call this method while the vault is locked.
    ///
    /// - Throws: `rolledBack`, `anchorLost`, `readOnly`, `busy`, `wiped` or `corrupt`.
    public func anchorReceipt() async throws(CofferError) -> AnchorReceipt {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.anchorReceipt() }
    }

    /// Checks that the vault directory is not older than a receipt, and asks all anchors. You can call this
    /// method while the vault is locked.
    ///
    /// - Parameter receipt: The receipt; `nil` to ask only the anchors.
    /// - Returns: The vault's number; 0 for a vault that has no anchor.
    /// - Throws: `rolledBack`; `anchorLost`; `foreign` or `notAuthentic` if the receipt is not this vault's;
    ///   `wiped` or `corrupt`.
    @discardableResult
    public func checkAnchors(_ receipt: AnchorReceipt? = nil) async throws(CofferError) -> UInt64 {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let vault = try core.home.openVault()
            let number = try core.readAnchors(in: vault)?.payload.number ?? 0
            try receipt?.verify(core.device)
            if let receipt, receipt.number > number {
                throw CofferError.olderVault("The receipt", receipt.number, number)
            }
            try core.checkAnchors(in: vault)
            return number
        }
    }

    /// Returns the vault's anchors, the strongest one first, and whether each can be read. You can call this
    /// method while the vault is locked.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func anchors() async throws(CofferError) -> [AnchorStatus] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.anchorStatuses() }
    }
}
