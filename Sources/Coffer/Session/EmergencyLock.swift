import CofferBase
import CofferEngine
import SystemPackage

/// Takes back what is held in the kernel keyring by the names of the keys alone: nothing has to be readable.
struct EmergencyLock {
    private var removed = 0
    private var failures: [CofferError] = []
    private var left: [[UInt8]] = []

    /// The start of every name that Coffer uses in the kernel keyring. Names are compared byte by byte.
    private static let prefix = Array("coffer:".utf8)
    /// The ends of the names of the keys that a lock leaves.
    private static let kept = ProtectionClass.allCases.filter { !$0.isEvictedOnLock }.map {
        Array($0.name.utf8)
    }
    private static let uuidSize = 36

    /// Locks the vault of a home; where it cannot be told which that is, every vault of this user.
    static func run(at location: VaultLocation) throws(CofferError) -> LockReport {
        var lock = EmergencyLock()
        let hints = VaultHints(at: location)
        for core in hints.candidates.flatMap(VaultRegistry.of) { core.lock(.requested) }
        if let doubt = hints.doubt {
            lock.failures.append(
                CofferError(
                    doubt.code,
                    doubt.code == .notInitialised
                        ? "There is no vault at \(location.path), so every vault of this user is locked. If "
                            + "it "
                            + "is elsewhere, say where."
                        : "The home does not tell which vault is in it, so every vault of this user is "
                            + "locked. "
                            + doubt.message, systemError: doubt.systemError))
            return try lock.lockEverything()
        }
        lock.remove { name in hints.candidates.contains { isOf($0, name) } }
        for vaultID in hints.candidates { lock.removeByName(vaultID) }
        lock.tidy(location, hints)
        return try lock.report(of: hints.candidates.first)
    }

    /// Locks every vault of this user.
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

    /// Whether it is the key of a class that outlasts a lock: the prefix, a vault's id, a colon, the class.
    private static func isKept(_ name: [UInt8]) -> Bool {
        let start = prefix.count + uuidSize
        guard name.count > start, name[start] == UInt8(ascii: ":") else { return false }
        return kept.contains(Array(name[(start + 1)...]))
    }

    private mutating func remove(_ matches: ([UInt8]) -> Bool) {
        do throws(CofferError) {
            // First: an unlock that finds its mark afterwards has stored everything before what follows.
            _ = try KernelSubkeyring.removeOfUser { UnlockMark.isMark($0) && matches($0) }
            let result = try KernelSubkeyring.removeOfUser(where: matches)
            removed += result.names.count { !UnlockMark.isMark($0) }
            // A key that could not be removed at first, and is gone, went with its link or its ring.
            failures += result.failures.filter { $0.code != .permissionDenied || !result.left.isEmpty }
            left += result.left
        } catch {
            // A kernel without keyrings has none of the keys.
            if error.systemError != nil, error.code == .unsupported { return }
            failures.append(error)
        }
    }

    /// Removes as readers find keys: by name, in rings within the user's too, also those that must not be
    /// looked at.
    private mutating func removeByName(_ vaultID: VaultID) {
        if KernelKeyCache.remove(vaultID: vaultID, all: false) { removed += 1 }
        for protection in ProtectionClass.allCases where protection.isEvictedOnLock {
            let name = KernelKeyCache.name(protection, vaultID: vaultID)
            if (try? KernelKeyring.contains(name)) == true { left.append(Array(name.utf8)) }
        }
    }

    /// Does what opening the home also does: finishes an interrupted wipe and removes views of dead owners.
    private mutating func tidy(_ location: VaultLocation, _ hints: VaultHints) {
        do throws(CofferError) {
            if hints.isUnfinished { try VaultEraser.finishInterrupted(at: location, time: .system) }
            guard !hints.isWiped else { return }
            _ = try ViewCopyDirectory.removeStale(vault: VaultDirectory.openDirectory(location).openVault())
        } catch {
            // A wipe that is finished says so by this.
            if error.code != .wiped { failures.append(error) }
        }
    }

    private func report(of vaultID: VaultID?) throws(CofferError) -> LockReport {
        guard left.isEmpty else {
            let names = left.map { String(decoding: $0, as: UTF8.self) }
            let reason = failures.last.map { " \($0.message)" } ?? ""
            throw CofferError(
                .permissionDenied,
                "Still in the kernel keyring: \(names.joined(separator: ", ")).\(reason)",
                systemError: failures.last?.systemError, entries: names)
        }
        return LockReport(vaultID: vaultID, removed: removed, failures: failures)
    }
}

/// Which vault a home has, from whatever still tells it. For removing keys alone: who can write the home can
/// have it name any vault.
private struct VaultHints {
    /// Every vault that something in the home names, the surest first.
    private(set) var candidates: [VaultID] = []
    /// Why it is not sure that the home's vault is among them; `nil` when it is.
    private(set) var doubt: CofferError?
    private(set) var isWiped = false
    /// A wipe, of everything or of the tokens, was interrupted.
    private(set) var isUnfinished = false

    init(at location: VaultLocation) {
        do throws(CofferError) {
            let home = try VaultDirectory.openDirectory(location)
            try look(in: home)
        } catch {
            doubt = error
        }
    }

    private mutating func look(in home: VaultDirectory) throws(CofferError) {
        let state = try? home.state()
        if let state { candidates.append(state.vaultID) }
        isUnfinished = state.map { [.wiping, .wipingTokens].contains($0.phase) } ?? false
        isWiped = state.map { !$0.isAlive } ?? false
        let target = WipeTarget(home, changingModes: false)
        candidates += target.ids.filter { !candidates.contains($0) }
        // The tag of the device record covers the vault's id; those of the others cannot be checked here, and
        // each can be that of another home.
        do throws(CofferError) {
            let vault = try home.directory.open(VaultDirectory.vaultName, [.read, .directory])
            let vaultID = try DeviceKeyFile.read(in: vault).vaultID
            candidates = [vaultID] + candidates.filter { $0 != vaultID }
        } catch {
            guard isWiped, target.named.isEmpty else { throw error }
        }
        guard target.named.count < 2 else {
            throw CofferError(.foreign, "Files of several vaults are in it.")
        }
    }
}

extension Vault {
    /// Locks the vault of a home without opening it: takes back what is held in the kernel keyring, volatile
    /// tokens included, and locks the sessions of this process. Keys of the two `afterFirstUnlock` classes
    /// stay, as with every lock.
    ///
    /// Needs nothing readable: no bus, no passcode, no sound file. Where the home is missing, damaged or not
    /// this user's alone, so that it cannot be told which vault it has, every vault of this user is locked,
    /// and ``LockReport/failures`` says so: to lock too much loses nothing.
    ///
    /// - Parameter location: The home's directory.
    /// - Returns: What was taken back, and what failed on the way.
    /// - Throws: `permissionDenied` when the kernel still has a key, with the names of those in `entries`.
    @discardableResult
    public static func lock(at location: VaultLocation) async throws(CofferError) -> LockReport {
        try await BlockingExecutor.run { _ throws(CofferError) in try EmergencyLock.run(at: location) }
    }

    /// Locks every vault of this user, as ``lock(at:)`` does one: all that the user keyring has under a name
    /// that begins with `coffer:`. Needs no home.
    ///
    /// - Returns: What was taken back, and what failed on the way.
    /// - Throws: `permissionDenied` when the kernel still has a key, with the names of those in `entries`.
    @discardableResult
    public static func lockAll() async throws(CofferError) -> LockReport {
        try await BlockingExecutor.run { _ throws(CofferError) in try EmergencyLock.runEverywhere() }
    }
}
