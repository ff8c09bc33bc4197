import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// An emergency lock, which removes a vault's keys from the kernel keyring by name alone and needs no
/// readable file.
struct EmergencyLock {
    private var removed = 0
    private var failures: [CofferError] = []
    private var remaining: [[UInt8]] = []

    /// The prefix of every name that Coffer uses in the kernel keyring. Names are compared byte by byte.
    private static let prefix = Array("coffer:".utf8)
    /// The name suffixes of the keys that a lock does not remove.
    private static let kept = ProtectionClass.allCases.filter { !$0.isEvictedOnLock }.map {
        Array($0.name.utf8)
    }
    private static let uuidSize = 36

    /// Locks the vault in a directory, or all of this user's vaults if the directory's vault cannot be
    /// determined.
    static func run(at location: VaultLocation) throws(CofferError) -> LockReport {
        var lock = EmergencyLock()
        let hints = VaultHints(at: location)
        for core in hints.candidates.flatMap(VaultRegistry.of) { core.lock(.requested) }
        if let doubt = hints.doubt {
            lock.failures.append(
                CofferError(
                    doubt.code,
                    doubt.code == .notInitialised
                        ? "There is no vault at \(location.path), so all of this user's vaults were locked. "
                            + "If the vault is elsewhere, specify the vault's directory."
                        : "The vault in this directory could not be identified, so all of this user's vaults "
                            + "were locked. "
                            + doubt.message,
                    remedy: doubt.code == .notInitialised ? nil : doubt.remedy, systemError: doubt.systemError
                ))
            return try lock.lockEverything()
        }
        lock.remove { name in hints.candidates.contains { isOf($0, name) } }
        for vaultID in hints.candidates { lock.removeByName(vaultID) }
        lock.cleanUp(location, hints)
        return try lock.report(of: hints.candidates.first, hasPasscode: hints.hasPasscode)
    }

    /// Locks all of this user's vaults.
    static func runEverywhere() throws(CofferError) -> LockReport {
        var lock = EmergencyLock()
        return try lock.lockEverything()
    }

    private mutating func lockEverything() throws(CofferError) -> LockReport {
        for core in VaultRegistry.all { core.lock(.requested) }
        remove { name in name.starts(with: Self.prefix) && !Self.isKept(name) }
        return try report(of: nil)
    }

    private static func isOf(_ vaultID: VaultID, _ name: [UInt8]) -> Bool {
        name.starts(with: prefix + Array("\(vaultID):".utf8)) && !isKept(name)
    }

    /// Returns whether a name belongs to a key that outlasts a lock. Such a name consists of the prefix, a
    /// vault's id, a colon and the class.
    private static func isKept(_ name: [UInt8]) -> Bool {
        let start = prefix.count + uuidSize
        guard name.count > start, name[start] == UInt8(ascii: ":") else { return false }
        return kept.contains(Array(name[(start + 1)...]))
    }

    private mutating func remove(_ matches: ([UInt8]) -> Bool) {
        do throws(CofferError) {
            // The marks are removed first. An unlock that still finds its mark stored all its keys before
            // this, so the next step removes them.
            _ = try KernelSubkeyring.removeOfUser { UnlockMark.isMark($0) && matches($0) }
            let result = try KernelSubkeyring.removeOfUser(where: matches)
            removed += result.names.count { !UnlockMark.isMark($0) }
            // A key whose first removal failed, but that no longer exists, was removed with its link or its
            // keyring.
            failures += result.failures.filter { $0.code != .permissionDenied || !result.remaining.isEmpty }
            remaining += result.remaining
        } catch {
            // A kernel without keyrings holds no keys.
            if error.systemError != nil, error.code == .unsupported { return }
            failures.append(error)
        }
    }

    /// Removes keys by looking them up by name, as readers do. This includes keys in keyrings nested in the
    /// user keyring, and keys without view permission. A key or ring that exists but that another process hid
    /// from lookups, too, counts as remaining.
    private mutating func removeByName(_ vaultID: VaultID) {
        if KernelKeyCache.remove(vaultID: vaultID, all: false) { removed += 1 }
        let left = KernelKeyCache.remains(
            of: vaultID, classes: ProtectionClass.allCases.filter(\.isEvictedOnLock))
        for name in (left.found + left.hidden).map({ Array($0.utf8) }) where !remaining.contains(name) {
            remaining.append(name)
        }
        // Otherwise, the search of the whole keyring has reported the error.
        if failures.isEmpty, let doubt = left.doubt { failures.append(doubt) }
    }

    /// Finishes an interrupted wipe and removes view copies and session-only databases whose process has
    /// ended, as opening the vault does.
    private mutating func cleanUp(_ location: VaultLocation, _ hints: VaultHints) {
        do throws(CofferError) {
            if hints.isUnfinished { try VaultEraser.finishInterrupted(at: location, clock: .system) }
            guard !hints.isWiped else { return }
            let vault = try VaultDirectory.openDirectory(location).openVault()
            Vault.removeEndedDatabases(
                in: vault, of: hints.candidates, boot: VaultClock.system.bootIdentifier())
            _ = try ViewCopyDirectory.removeStale(vault: vault)
        } catch {
            // `wiped` reports that the interrupted wipe was finished.
            if error.code != .wiped { failures.append(error) }
        }
    }

    private func report(
        of vaultID: VaultID?, hasPasscode: Bool? = nil
    ) throws(CofferError) -> LockReport {
        guard remaining.isEmpty else {
            let names = remaining.map { String(decoding: $0, as: UTF8.self) }
            let reason = failures.last.map { " \($0.message)" } ?? ""
            throw CofferError(
                .permissionDenied,
                "These keys could not be removed from the kernel keyring: "
                    + "\(names.joined(separator: ", ")).\(reason)",
                remedy: failures.last?.remedy, systemError: failures.last?.systemError, entries: names)
        }
        return LockReport(
            vaultID: vaultID, removed: removed, hasPasscode: hasPasscode, failures: failures)
    }
}

/// The vaults that a directory may contain, according to every file in it that contains a vault's id. Use
/// them only to remove keys: an attacker who can write to the directory can put any vault's id in it.
private struct VaultHints {
    /// Every vault whose id is in the directory, the most reliable first.
    private(set) var candidates: [VaultID] = []
    /// The error that makes it uncertain whether the candidates include the directory's vault; `nil` if they
    /// certainly do.
    private(set) var doubt: CofferError?
    private(set) var isWiped = false
    /// Whether a wipe of everything or of the tokens was interrupted.
    private(set) var isUnfinished = false
    /// Whether the vault has a passcode, according to a record that is not authenticated; `nil` if unknown.
    private(set) var hasPasscode: Bool?

    init(at location: VaultLocation) {
        do throws(CofferError) {
            let home = try VaultDirectory.openDirectory(location)
            try inspect(home)
        } catch {
            doubt = error
        }
    }

    private mutating func inspect(_ home: VaultDirectory) throws(CofferError) {
        let state = try? home.state()
        if let state { candidates.append(state.vaultID) }
        isUnfinished = state.map { [.wiping, .wipingTokens].contains($0.phase) } ?? false
        isWiped = state.map { !$0.isAlive } ?? false
        let target = WipeTarget(home, changingModes: false)
        candidates += target.ids.filter { !candidates.contains($0) }
        // The tag of the device record covers the vault's id. The tags of the other files cannot be checked
        // here, so each of those files may belong to another vault.
        do throws(CofferError) {
            let vault = try home.directory.open(VaultDirectory.vaultName, [.read, .directory])
            let vaultID = try DeviceKeyFile.read(in: vault).vaultID
            candidates = [vaultID] + candidates.filter { $0 != vaultID }
            hasPasscode = Keybag.record.unauthenticated(in: vault).map { $0.passcode != nil }
        } catch {
            guard isWiped, target.named.isEmpty else { throw error }
        }
        guard target.named.count < 2 else {
            throw CofferError(.foreign, "The directory contains files from several vaults.")
        }
    }
}

extension Vault {
    /// Locks the vault in a directory without opening it: removes its keys and ephemeral tokens from the
    /// kernel keyring, and locks every `Vault` object for it in this process. The keys for the two
    /// `afterFirstUnlock` classes stay, as with every lock.
    ///
    /// This needs no bus, no passcode and no intact file. If the directory's vault cannot be determined,
    /// because the directory is missing, damaged or not private to this user, all of this user's vaults are
    /// locked and ``LockReport/failures`` contains the reason: `notInitialised` if the directory does not
    /// exist, perhaps because its path is wrong. Locking too many vaults loses no data.
    ///
    /// - Parameter location: The vault's directory.
    /// - Returns: A report with the number of removed keys and the errors that occurred.
    /// - Throws: `permissionDenied` if the kernel keyring still has a key, even one that another process hid
    ///   from this user, with the names of the remaining keys in `entries`.
    @discardableResult
    public static func lock(at location: VaultLocation) async throws(CofferError) -> LockReport {
        try await BlockingExecutor.run { _ throws(CofferError) in try EmergencyLock.run(at: location) }
    }

    /// Locks all of this user's vaults in the same way that ``lock(at:)`` locks one. No vault directory is
    /// needed.
    ///
    /// This method removes everything in the user keyring whose name begins with `coffer:`, except the keys
    /// for the two `afterFirstUnlock` classes.
    ///
    /// - Returns: A report with the number of removed keys and the errors that occurred.
    /// - Throws: `permissionDenied` if the kernel keyring still has a key, with the names of the remaining
    ///   keys in `entries`.
    @discardableResult
    public static func lockAll() async throws(CofferError) -> LockReport {
        try await BlockingExecutor.run { _ throws(CofferError) in try EmergencyLock.runEverywhere() }
    }
}
