import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// Support for erasing only the tokens.
extension VaultEraser {
    /// Runs all steps after the tombstone: removes the tokens and makes the vault active again. If the Secret
    /// Service does not answer, the tombstone stays, and the next opening of the vault tries again.
    func completeTokenWipe(
        _ vaultID: VaultID, reason: String, completes: Bool, device: DeviceKey?
    ) throws(CofferError) -> WipeReceipt {
        let started = clock.wallClock()
        let begin = Clock.sinceBoot
        for core in VaultRegistry.of(vaultID) {
            core.ephemeralTokens.clear()
            core.dropPendingState()
        }
        KernelKeyringStorage.remove(vaultID: vaultID)
        report(WipeProgress(.memory))
        let vault = try home.directory.open(VaultDirectory.vaultName, [.read, .directory])
        var findings = WipeFindings(unverified: Self.unverified)
        noteVolatileRing(of: vaultID, &findings)
        do throws(CofferError) {
            let opened: DeviceKey
            if let device {
                opened = device
            } else {
                opened = try DeviceKey.read(in: vault, service: home.service)
            }
            let count = try eraseTokens(of: opened, in: vault)
            // This must come before tokens are stored again: a command to wipe the old tokens must not erase
            // new ones.
            try RemoteCommandRecord.markTokenCommandsCompleted(of: opened, in: vault)
            findings.removed["tokens"] = count
            if count > 0 { findings.noteSessions() }
            report(WipeProgress(.keys))
        } catch {
            guard Self.isKeyringAway(error) else { throw error }
            findings.unverified.append(
                "tokens in the Secret Service (\(error.code.name)); the next command that opens the vault "
                    + "will try again")
        }
        let receipt = WipeReceipt(
            vaultID: vaultID.uuid, scope: WipeScope.tokens.name, reason: reason,
            orderDigest: orderDigest,
            started: Date(nanosecondsSince1970: started.nanoseconds),
            finished: Date(nanosecondsSince1970: clock.wallClock().nanoseconds),
            keysDestroyedAfterMilliseconds: Double((Clock.sinceBoot - begin).nanoseconds) / 1e6,
            completesInterrupted: completes, findings)
        keep(receipt)
        if findings.removed["tokens"] != nil {
            report(WipeProgress(.data))
            try VaultStateFile(phase: .active, vaultID: vaultID).write(in: home.directory)
        }
        report(WipeProgress(.proof))
        return receipt
    }

    /// Records the keyring of ephemeral tokens and session-only files if it may still be there.
    private func noteVolatileRing(of vaultID: VaultID, _ findings: inout WipeFindings) {
        let left = KernelKeyCache.remains(of: vaultID, classes: [])
        findings.noteUnverified(left)
        findings.unverified += left.found.map { "\($0) in the kernel keyring, which could not be removed" }
    }

    /// Erases every token except database keys; returns the number of erased tokens.
    private func eraseTokens(
        of device: DeviceKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> Int {
        let kept = try DatabaseKeyNaming.names(in: vault, device: device)
        var count = 0
        let inbox = PendingTokenQueue(home: home, device: device)
        count += (try? inbox.entries().count) ?? 0
        try vault.removeTree(PendingTokenQueue.directoryName)
        switch try DeviceKeyFile.read(in: vault).backend {
        case .file:
            count += try TokenFile(device: device).erase(keeping: kept, in: vault)
        case .secretService:
            let keyring = try SecretServiceStorage(tokensOf: device.vaultID, client: home.service)
            let names = try keyring.envelopes().keys.filter { !kept.contains($0) }
            try keyring.apply(Dictionary(names.map { ($0, .remove) }) { first, _ in first })
            try vault.removeTree(TokenFile.fileName)
            count += names.count
        }
        try vault.sync()
        return count
    }

    /// Returns whether the error means that the desktop keyring is not available.
    private static func isKeyringAway(_ error: CofferError) -> Bool {
        [
            .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection, .keyringLocked,
            .noPrompter, .promptDismissed, .timedOut, .interrupted, .unsupported,
        ].contains(error.code)
    }
}
