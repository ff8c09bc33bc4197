public import CofferBase
import CofferEngine
public import CofferVault

extension Vault {
    /// Returns what ``upgrade(passcode:requiringBackup:)`` would change. Needs no unlocked vault.
    ///
    /// - Throws: `wiped`; `corrupt` if the keybag or the record of file keys is damaged.
    public func availableUpgrades() async throws(CofferError) -> [FormatUpgrade] {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.availableUpgrades(core.readKeybag(), in: core.home.openVault())
        }
    }

    /// Brings the parts of the vault that an earlier release wrote to the format of this release.
    ///
    /// Nothing else does this: opening and unlocking a vault of an earlier release change no format, and what
    /// such a vault lacks is `unsupported` until the upgrade. Afterwards, that earlier release may refuse the
    /// vault. The new files are written beside the present ones, flushed and read back before one write
    /// switches to all of them. An interruption at any point leaves the vault as it was or upgraded.
    ///
    /// The contents of tokens, files and databases stay as they are. Each user's namespace is upgraded with
    /// its own `Vault`.
    ///
    /// - Parameters:
    ///   - passcode: The vault's passcode; `nil` if none is set. It counts as an attempt to unlock. If there
    ///     is nothing to upgrade, it is not evaluated.
    ///   - requiringBackup: Whether to refuse unless the vault recorded a backup in the last 24 hours.
    /// - Returns: What was changed; empty if there was nothing to upgrade.
    /// - Throws: The errors that ``unlock(with:)`` throws; `refused` without a backup; `corrupt` if the index
    ///   of files is damaged, or if there is none and a container cannot be read; `busy` during a rotation of
    ///   keys, and while tokens are being erased; `noSpace`. After these errors, nothing is upgraded.
    public func upgrade(
        passcode: Passcode? = nil, requiringBackup: Bool = true
    ) async throws(CofferError) -> [FormatUpgrade] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try VaultUpgrade(core, files).run(passcode: passcode, requiringBackup: requiringBackup)
        }
    }
}

extension VaultCore {
    /// Returns the parts of the vault that are in the format of an earlier release.
    func availableUpgrades(
        _ keybag: Keybag, in vault: borrowing Descriptor
    ) throws(CofferError) -> [FormatUpgrade] {
        var found: [FormatUpgrade] = []
        if !keybag.isComplete { found.append(.keybag) }
        if !keybag.features.contains(.keyPairs), try vault.status(of: VaultDirectory.keyPairsName) != nil {
            found.append(.keyPairs)
        }
        let keys = try FileKeysetRecord(device: device).read(in: vault).keys
        if !keys.hasIndex || !keys.hasIndexCommits { found.append(.fileIndex) }
        return found
    }
}
