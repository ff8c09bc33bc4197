import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// The steps after the tombstone. No step throws: a failure is recorded, and the next step follows.
extension VaultEraser {
    static let receiptName: FilePath = "receipt.json"
    /// The files that hold keys, or data that opens keys.
    private static let keyFiles: [FilePath] = [
        Keybag.record.name, RecoveryRecord.name, FileKeyset.record.name, DeviceKeyFile.name,
        AttemptRecord.record.name,
    ]
    private static let filesPerReport = 64
    /// The maximum number of times to empty the vault's directory while another process adds files.
    private static let tries = 4

    /// The time at which a wipe started, according to both clocks.
    struct Beginning {
        let wall: Duration
        let sinceBoot: Duration

        init(_ clock: VaultClock) { (wall, sinceBoot) = (clock.wallClock(), Clock.sinceBoot) }
    }

    /// Runs all steps after the tombstone.
    func finish(
        _ ids: [VaultID], reason: String, scope: WipeScope = .all, completes: Bool,
        since beginning: Beginning? = nil,
        _ known: WipeFindings = WipeFindings(unverified: Self.unverified)
    ) -> WipeEnd {
        var findings = known
        let beginning = beginning ?? Beginning(clock)
        removeKeysFromMemory(of: ids)
        report(WipeProgress(.memory))
        destroyKeys(&findings)
        let inside = destroyKeysOfNamespaces(reason: reason, &findings)
        let keysGone = hasKeyFiles ? nil : Clock.sinceBoot - beginning.sinceBoot
        report(WipeProgress(.keys))
        removeViews(ids, &findings, others: inside.values.flatMap(\.self))
        removeVault(&findings)
        wipeNamespaces(inside, reason: reason, &findings)
        removeUnfinishedHomes(&findings)
        do throws(CofferError) {
            try home.directory.sync()
        } catch {
            findings.noteUnverified("the flushing of all changes to the disk", because: error)
        }
        prove(ids, &findings)
        findings.noteSessions()
        var receipt = WipeReceipt(
            vaultID: (ids.first ?? .unknown).uuid, scope: scope.name, reason: reason,
            orderDigest: orderDigest, started: Date(nanosecondsSince1970: beginning.wall.nanoseconds),
            finished: Date(nanosecondsSince1970: clock.wallClock().nanoseconds),
            keysDestroyedAfterMilliseconds: keysGone.map { Double($0.nanoseconds) / 1e6 },
            completesInterrupted: completes, findings)
        keep(receipt)
        if let error = finalMark(ids.first ?? .unknown, findings) {
            findings.noteUnverified("the final record that the vault was wiped", because: error)
            receipt = receipt.with(findings)
        }
        report(WipeProgress(.proof))
        return WipeEnd(receipt: receipt, failure: findings.failure)
    }

    /// Records in the state that the wipe is complete. If anything remains, records nothing, so the
    /// wipe is retried the next time the vault is opened. Returns the error if the state cannot be written.
    private func finalMark(_ vaultID: VaultID, _ findings: WipeFindings) -> CofferError? {
        guard findings.remaining.isEmpty else { return nil }
        do throws(CofferError) {
            try VaultStateFile(phase: .wiped, vaultID: vaultID).writeOverAnything(in: home.directory)
            return nil
        } catch {
            return error
        }
    }

    /// Removes the keys from this process's memory and from the kernel keyring.
    func removeKeysFromMemory(of ids: [VaultID]) {
        for vaultID in ids {
            for core in VaultRegistry.of(vaultID) { core.destroyKeys() }
            KernelKeyCache.remove(vaultID: vaultID, all: true)
            try? AnchorKey.remove(vaultID)
        }
    }

    // MARK: Keys

    /// Overwrites in place the files that open everything else, flushes them, and only then removes them.
    /// Afterwards, nothing else in the vault can be read.
    func destroyKeys(_ findings: inout WipeFindings) {
        for name in VaultDirectory.keyDirectoryNames {
            if let directory = opened(name) { destroyKeys(in: directory, &findings) }
        }
    }

    private func destroyKeys(in vault: VaultHandle, _ findings: inout WipeFindings) {
        var keys: [FilePath] = []
        for name in Self.keyFiles {
            let kind = (try? vault.directory.status(of: name))??.kind
            if kind == .symbolicLink {
                findings.unverified.append("the target of \(name), a link that was not followed")
            }
            guard kind == .regular else { continue }
            keys.append(name)
            do throws(CofferError) {
                try vault.directory.overwrite(name, flushing: false)
            } catch {
                findings.noteUnverified(
                    "the old blocks of \(name), which could not be overwritten", because: error)
            }
        }
        // Overwriting moves no blocks, so flushing the bytes suffices and needs no wait for a journal.
        for name in keys {
            do throws(CofferError) {
                try vault.directory.openForOverwriting(name).syncData()
            } catch {
                findings.noteUnverified(
                    "the old blocks of \(name), which could not be flushed", because: error)
            }
        }
        for name in keys where vault.directory.removeAll(of: name).isEmpty { findings.count("keys") }
        try? vault.directory.sync()
    }

    /// Whether a file that may hold the vault's keys is still there.
    private var hasKeyFiles: Bool {
        VaultDirectory.keyDirectoryNames.contains { name in
            guard (try? home.directory.status(of: name)) != nil else { return false }
            guard let directory = opened(name) else { return true }
            return Self.keyFiles.contains { (try? directory.directory.status(of: $0)) != nil }
        }
    }

    /// Returns the vault's directory; `nil` if it cannot be opened.
    private func openedVault() -> VaultHandle? { opened(VaultDirectory.vaultName) }

    private func opened(_ name: FilePath) -> VaultHandle? {
        guard let directory = try? home.directory.openClosed(name) else { return nil }
        return VaultHandle(directory)
    }

    // MARK: Data

    /// Removes view copies under every root that this vault may have used. A later step removes the view
    /// copies that belong to `others`.
    func removeViews(_ ids: [VaultID], _ findings: inout WipeFindings, others: [VaultID] = []) {
        let removal = ViewRemoval(of: ids, vault: openedVault(), others: others)
        findings.count("viewCopies", removal.count)
        for view in removal.unseen {
            findings.noteUnverified("view copies in \(view.name)", because: view.reason)
        }
        for view in removal.remaining {
            findings.note("view copies in \(view.name)", remainsBecause: view.reason)
        }
    }

    /// Removes the vault's directory with everything in it.
    private func removeVault(_ findings: inout WipeFindings) {
        var errors: [CofferError] = []
        for _ in 0..<Self.tries {
            errors = emptyVault(&findings)
            // The process that holds the lock may have added a file in the meantime.
            guard errors.isEmpty, (try? home.directory.status(of: VaultDirectory.vaultName)) != nil else {
                break
            }
        }
        guard let status = try? home.directory.status(of: VaultDirectory.vaultName) else { return }
        let path = home.path.pushing(VaultDirectory.vaultName)
        let unknown =
            status.kind == .symbolicLink
            ? CofferError(.refused, "\(path) is a link, and the target of the link was not changed.")
            : CofferError(
                .inputOutput,
                "\(path) could not be removed because another process keeps adding files. Stop that process, "
                    + "then wipe the vault again.")
        findings.note("the vault's directory", remainsBecause: errors.first ?? unknown)
    }

    private func emptyVault(_ findings: inout WipeFindings) -> [CofferError] {
        do throws(CofferError) {
            guard let status = try home.directory.status(of: VaultDirectory.vaultName),
                status.kind != .symbolicLink
            else { return [] }
            guard status.kind == .directory else {
                return home.directory.removeAll(of: VaultDirectory.vaultName)
            }
            let vault = try home.directory.openClosed(VaultDirectory.vaultName)
            let errors = remove(try vault.names(), of: vault, &findings)
            try vault.sync()
            guard errors.isEmpty else { return errors }
            do throws(CofferError) {
                try home.directory.removeDirectory(VaultDirectory.vaultName)
            } catch {
                return error.code == .alreadyExists ? [] : [error]
            }
            return []
        } catch {
            return [error]
        }
    }

    private func remove(
        _ names: [FilePath], of vault: borrowing Descriptor, _ findings: inout WipeFindings
    ) -> [CofferError] {
        var errors: [CofferError] = []
        for (number, name) in names.enumerated() {
            if name == VaultDirectory.filesName { errors += removeFiles(in: vault, &findings) }
            let failed = vault.removeAll(of: name)
            errors += failed
            report(WipeProgress(.data, number + 1, of: names.count))
            guard failed.isEmpty, name != VaultDirectory.filesName else { continue }
            findings.count(name == TokenFile.fileName ? "tokenFiles" : "others")
        }
        return errors
    }

    /// Removes the containers. There may be many of them, so this function reports progress.
    private func removeFiles(
        in vault: borrowing Descriptor, _ findings: inout WipeFindings
    ) -> [CofferError] {
        guard let files = try? vault.openClosed(VaultDirectory.filesName), let names = try? files.names()
        else {
            return []
        }
        var errors: [CofferError] = []
        for (number, name) in names.enumerated() {
            let failed = files.removeAll(of: name)
            errors += failed
            if failed.isEmpty { findings.count("files") }
            if number % Self.filesPerReport == 0 { report(WipeProgress(.data, number, of: names.count)) }
        }
        return errors
    }

    private func removeUnfinishedHomes(_ findings: inout WipeFindings) {
        let names = (try? home.directory.names()) ?? []
        for name in names
        where [VaultDirectory.nextName, VaultDirectory.discardedName].contains(name)
            || name.string.utf8.starts(with: VaultDirectory.buildPrefix.utf8)
        {
            // A replaced file has another name there than its own, and was not overwritten by it.
            for error in home.directory.removeAll(of: name, overwriting: true).prefix(1) {
                findings.note("an unfinished vault", remainsBecause: error)
            }
        }
    }

    // MARK: Proof

    /// Checks that the keys are gone. Removes keyring items last, because the desktop keyring may not answer;
    /// by then nothing can open these items.
    private func prove(_ ids: [VaultID], _ findings: inout WipeFindings) {
        for vaultID in ids {
            if let note = removeItems(of: vaultID, &findings) { findings.unverified.append(note) }
            let left = KernelKeyCache.remains(of: vaultID, classes: ProtectionClass.allCases)
            findings.noteUnverified(left)
            guard !left.found.isEmpty else { continue }
            let error = CofferError(
                .inputOutput, "A key of the vault \(vaultID) could not be removed from the kernel keyring.")
            findings.note("a key in the kernel keyring", remainsBecause: error)
        }
        guard ids.isEmpty else { return }
        findings.unverified.append(
            "keys in the kernel keyring and view copies, because the vault's id could not be determined")
    }

    /// Removes the vault's items from the Secret Service; returns a note if something remains there.
    private func removeItems(of vaultID: VaultID, _ findings: inout WipeFindings) -> String? {
        let remains = OrphanedSecretItems(home: home)
        let next = "the next command that opens the vault will try again"
        do throws(CofferError) {
            guard try remains.isNoted(vaultID) else { return nil }
            let (count, remaining) = try remains.remove(vaultID, Deadline(SecretServiceClient.deadline))
            findings.removed["keyringItems", default: 0] += count
            guard remaining > 0 else { return nil }
            return "\(remaining) sealed items in the desktop keyring, which is locked; \(next)"
        } catch {
            return "sealed items in the Secret Service (\(error.code.name)); \(next)"
        }
    }

    /// Stores the receipt beside the tombstone. A failure, such as a full disk, does not stop the wipe.
    func keep(_ receipt: WipeReceipt) {
        guard let bytes = try? receipt.json else { return }
        try? home.directory.removeTemporaries()
        try? home.directory.replace(Self.receiptName, with: bytes.span)
    }

    static let unverified: [String] = [
        "copies made before the wipe: backups, snapshots and disk images",
        "old blocks kept by flash wear levelling or copy-on-write file systems",
        "swap and hibernation images",
        "exported data, and data that other programs copied from view copies",
    ]
}
