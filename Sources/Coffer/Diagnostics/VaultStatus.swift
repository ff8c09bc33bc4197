public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
public import FoundationEssentials
import Synchronization
import SystemPackage

/// A vault's status, which can be read without unlocking the vault.
public struct VaultStatus: Sendable, Equatable {
    /// A vault's state.
    public enum State: String, Sendable {
        /// There is no vault.
        case uninitialised
        /// The class keys that a lock evicts are not available.
        case locked
        /// Class keys are available: in memory, in the kernel keyring, or because no passcode is set.
        case unlocked
        /// The vault was erased; a new one can be created in its place.
        case wiped
    }

    /// The vault's state.
    public let state: State
    /// The vault's identity; `nil` if there is no vault.
    public var vaultID: VaultID?
    /// The storage backend for the device key and the tokens; `nil` if there is no vault.
    public var keyring: KeyringBackend?
    /// Whether a passcode is set.
    public var hasPasscode = false
    /// The number of wrong passcodes left before everything is erased; `nil` if no passcode is set or if
    /// wrong passcodes never erase the vault.
    public var attemptsLeft: Int?
    /// Whether the tenth wrong passcode in a row erases the vault; `false` if no passcode is set.
    public var erasesAfterTenFailures = false
    /// Whether files may be added only while the vault's disk is known to be encrypted, because of this
    /// vault's settings or those of the vault that contains this namespace.
    public var requiresDiskEncryption = false
    /// The recovery key that the vault has; `nil` if there is none.
    public var recoveryKey: RecoveryKeyStatus?
    /// The time of the last backup that this vault recorded; `nil` if there was none, or if its record is
    /// unreadable.
    public var lastBackup: Date?
    /// The number of minutes of inactivity before the vault locks, rounded up; `nil` if inactivity does not
    /// lock it.
    public var inactivityMinutes: Int?
    /// The time until the kernel keyring drops the keys if no program uses them in the meantime; `nil` if the
    /// kernel keyring has no keys, if its keys stay until a reboot, or if no passcode is set.
    public var timeLeft: Duration?
    /// The number of tokens.
    public var tokens = 0
    /// The number of files.
    public var files = 0
    /// The number of the vault's own databases, without soup stores and without session-only databases; `nil`
    /// if there is no vault, or if the directory of databases cannot be read.
    public var databases: Int?
    /// The number of key pairs; `nil` if there is no vault, or if the file of key pairs cannot be read.
    public var keyPairs: Int?
    /// The certificates that key pairs have or await, in the order of the aliases' bytes.
    public var certificates: [CertificateStatus] = []
    /// The number of interrupted file additions and removals that left data in the vault.
    public var unfinishedFiles = 0
    /// The number of bytes that interrupted file additions and removals left in the vault. The next command
    /// that lists or changes files removes this data.
    public var unfinishedBytes: Int64 = 0
    /// The files whose containers another program deleted.
    public var missingFiles: [FileID] = []
    /// The files whose containers are in this vault but that the undamaged file index does not list.
    public var unlistedFiles: [FileID] = []
    /// Whether the file index is damaged; ``FileStore/reindex()`` rebuilds it.
    public var isFileIndexDamaged = false
    /// Whether the file key record is damaged; without that record, no file can be opened.
    public var isFileKeysRecordDamaged = false
    /// The number of tokens that were stored while the vault was locked and are pending until an unlock.
    public var pendingTokens = 0
    /// The number of pending tokens that would replace a stored token and must first be accepted or rejected.
    public var unconfirmedTokens = 0
    /// The number of damaged pending tokens.
    public var corruptTokens = 0
    /// Whether a key rotation was interrupted, or found items that it could not read. The next unlock goes on
    /// with it.
    public var isRotatingKeys = false
    /// The parts of the vault that ``Vault/upgrade(passcode:requiringBackup:)`` would bring to this release's
    /// format; empty if there are none.
    public var availableUpgrades: [FormatUpgrade] = []
    /// The administrator's policy that the vault obeys.
    public var policy = ManagedPolicy.none
    /// The faults of the administrator's policy, as one or more sentences; `nil` if it has none. Until it
    /// is corrected, the vault cannot be unlocked.
    public var policyFault: String?
    /// Whether the administrator's policy is another one than at the last unlock, or is gone.
    public var isPolicyChanged = false

    init(_ state: State) { self.state = state }
}

extension Vault {
    /// Returns the status of the vault at `location`, including the keys and tokens that commands left in the
    /// kernel keyring. This method also finishes an interrupted wipe.
    ///
    /// - Parameter location: The vault's directory.
    /// - Returns: The vault's status, even if there is no vault or the vault was wiped.
    /// - Throws: The errors that ``init(at:clock:interaction:)`` throws, except `notInitialised` and `wiped`,
    ///   if the vault cannot be inspected.
    public static func status(at location: VaultLocation) async throws(CofferError) -> VaultStatus {
        let vault: Vault
        do throws(CofferError) {
            vault = try await Vault(at: location)
        } catch {
            switch error.code {
            case .notInitialised: return VaultStatus(.uninitialised)
            case .wiped: return VaultStatus(.wiped)
            default: throw error
            }
        }
        vault.shareEphemeralTokens()
        return try await vault.status()
    }

    /// Returns this vault's status.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func status() async throws(CofferError) -> VaultStatus {
        let core = core
        var status = try await BlockingExecutor.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            let cached = try core.cachedKeys.read(keybag)
            let isOpen =
                keybag.passcode == nil || core.keys.isUnlocked
                || cached.keys.keys.contains { $0.isEvictedOnLock }
            var status = VaultStatus(isOpen ? .unlocked : .locked)
            status.vaultID = core.device.vaultID
            status.keyring = try core.activeStorage.backend()
            status.hasPasscode = keybag.passcode != nil
            status.attemptsLeft = try core.attemptsLeft(keybag)
            status.erasesAfterTenFailures = keybag.passcode != nil && keybag.erasesAfterTenFailures
            status.policyFault = core.managed.fault?.message
            status.policy = (try? core.managed.policy()) ?? .none
            status.isPolicyChanged = (try? core.isPolicyChanged()) ?? false
            // Without the settings of the vault around a namespace, no file can be added either.
            status.requiresDiskEncryption = (try? core.requiresDiskEncryption()) ?? true
            if keybag.passcode != nil { status.timeLeft = cached.timeLeft(now: core.clock.bootTime()) }
            status.isRotatingKeys = keybag.isRotating
            status.availableUpgrades = (try? core.availableUpgrades(keybag, in: core.home.openVault())) ?? []
            status.recoveryKey = keybag.recoverySlots.map(RecoveryKeyStatus.init)
            if let pairs = try? core.keyPairsByAlias() {
                status.keyPairs = pairs.count
                status.certificates = (try? core.certificates(of: pairs)) ?? []
            }
            status.lastBackup = (try? core.lastBackup()).map { Date(nanosecondsSince1970: $0.time) }
            status.databases = try? DatabaseKeyNaming.databaseCount(in: core.home.openVault())
            let inactivity = core.managed.inactivity(with: keybag.inactivity)
            status.inactivityMinutes = inactivity.map { ($0 + 59) / 60 }
            return status
        }
        status.tokens = try await tokens.count()
        status.files = try await files.count()
        let (remains, condition) = try await BlockingExecutor.run { [files] _ throws(CofferError) in
            (try files.remains(), try files.condition())
        }
        (status.unfinishedFiles, status.unfinishedBytes) = (remains.count, remains.bytes)
        (status.missingFiles, status.unlistedFiles) = (condition.missing, condition.unlisted)
        status.isFileIndexDamaged = condition.indexDamage != nil
        status.isFileKeysRecordDamaged = condition.keysDamage != nil
        let waiting = try await tokens.pendingTokens()
        status.pendingTokens = waiting.pending
        status.unconfirmedTokens = waiting.unconfirmed
        status.corruptTokens = waiting.corrupt
        return status
    }

    /// Returns whether a passcode is set, without the work of the whole status.
    ///
    /// - Throws: `wiped`, `corrupt`.
    package func hasPasscode() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.readKeybag().passcode != nil
        }
    }

    /// Caches the class keys in the kernel keyring, where this user's later processes find them.
    ///
    /// Each class has its own inactivity time, which only use of that class restarts. Keys restored from the
    /// kernel keyring with an exact end time are not cached beyond that time.
    ///
    /// If another process locks the vault between ``unlock(with:)`` and this call, the call does not notice
    /// the lock; ``unlock(with:cachingFor:)`` does.
    ///
    /// - Parameter duration: The exact time for which the keys are cached; `nil` to cache them for the
    ///   vault's inactivity time after each use.
    /// - Throws: `locked` if the vault is locked, if a lock occurs in the meantime, or if `duration` exceeds
    ///   the time that the keys may still stay in memory; `unsupported` or `permissionDenied` if the kernel
    ///   keyring is not available; `noSpace` if the kernel keyring accepts no more keys from this user;
    ///   `wiped`.
    public func cacheKeysInKernel(for duration: Duration? = nil) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.cacheKeysInKernel(seconds: duration.map { max(1, Int($0.components.seconds)) })
        }
    }

    /// Unlocks the vault like ``unlock(with:)`` and caches its keys like ``cacheKeysInKernel(for:)``. If any
    /// of this user's processes locks the vault between the two steps, the lock takes effect and no key is
    /// cached.
    ///
    /// - Parameters:
    ///   - passcode: The vault's passcode; `nil` if none is set.
    ///   - duration: The exact time for which the keys are cached; `nil` to cache them for the vault's
    ///     inactivity time after each use.
    /// - Throws: The errors that ``unlock(with:)`` and ``cacheKeysInKernel(for:)`` throw. `locked` is also
    ///   thrown if a lock occurs in the meantime, and `noSpace` is thrown before the passcode is evaluated if
    ///   the kernel keyring accepts no more keys from this user.
    public func unlock(
        with passcode: Passcode?, cachingFor duration: Duration?
    ) async throws(CofferError) {
        try await announceHolding()
        do throws(CofferError) {
            try await unlock(with: passcode)
            try await cacheKeysInKernel(for: duration)
        } catch {
            withdrawHolding()
            throw error
        }
    }

    /// Announces that the next ``cacheKeysInKernel(for:)`` caches keys that are unlocked after this call.
    /// That call then notices if any of this user's processes locks the vault in between.
    ///
    /// - Throws: `noSpace` if the kernel keyring accepts no more keys from this user.
    package func announceHolding() async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.requireIdentifiableKeys()
            let mark = try UnlockMark.place(for: core.device.vaultID)
            core.unlockMark.withLock { $0 = mark }
        }
    }

    /// Withdraws the announcement that ``announceHolding()`` made, and removes its mark from the kernel
    /// keyring.
    package func withdrawHolding() { core.unlockMark.withLock { $0 = nil } }

    /// Returns whether ``cacheKeysInKernel(for:)`` can cache every class's key for `duration` from the keys
    /// in memory.
    package func canCacheKeys(for duration: Duration?) -> Bool {
        core.keys.isUnlocked && !core.keys.isPartial && core.mayHold(for: duration)
    }

    /// Restores the class keys that an earlier process cached in the kernel keyring.
    ///
    /// Only keys that belong to this vault's keybag are restored. A key with an exact end time is also
    /// evicted from this process at that time. A keybag from an earlier release cannot identify keys until
    /// ``upgrade(passcode:requiringBackup:)`` has completed it, so no key is restored before then.
    ///
    /// Keys that end a lock are an unlock for the administrator's policy, too, which is read again.
    ///
    /// - Returns: Whether the vault now has any keys that a lock would evict.
    /// - Throws: `wiped` or `corrupt`.
    public func restoreCachedKeys() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let locks = core.keys.locks
            let vault = try core.home.openVault()
            let keybag = try core.home.mappingMissingFiles { () throws(CofferError) in
                try core.checkAnchors(in: vault)
                return try VaultCore.readKeybag(device: core.device, in: vault)
            }
            let taken = try core.cachedKeys.read(keybag)
            let hasNew = !core.keys.isUnlocked && taken.keys.keys.contains { $0.isEvictedOnLock }
            core.managed.noteCachedKeys(unlocking: hasNew)
            core.checkedKeybag.withLock { $0 = nil }
            if core.keys.insert(taken.keys, taken.terms, lacking: taken.lacking, since: locks) {
                core.cachedKeys.share(taken, keybag)
            }
            try? core.drainPendingTokens()
            continueRotation()
            return core.keys.isUnlocked
        }
    }
}

extension VaultCore {
    /// Caches the keys. If a lock comes in the meantime, the keys that the lock evicts do not stay in the
    /// cache.
    fileprivate func cacheKeysInKernel(seconds: Int?) throws(CofferError) {
        let locks = keys.locks
        let announced = unlockMark.withLock { $0.take() }
        try requireIdentifiableKeys()
        try requireTime(seconds)
        guard keys.isUnlocked else { throw CofferError.locked }
        guard mayHold(for: seconds.map { .seconds($0) }) else {
            throw CofferError(
                .locked,
                "The keys were restored from the kernel keyring and keep its timeout. To cache the keys for "
                    + "longer, unlock the vault with the passcode.")
        }
        let mark: UnlockMark? =
            if let announced { announced } else { try UnlockMark.place(for: device.vaultID) }
        try checkMark(mark, announced)
        try cachedKeys.store(keys.all, seconds: seconds)
        guard keys.locks == locks else {
            cachedKeys.remove(all: keys.all.isEmpty)
            throw CofferError.lockedMeanwhile
        }
        do throws(CofferError) {
            try checkMark(mark, announced)
            // A wipe that removed the marks before this mark was placed had already recorded itself in the
            // state.
            if let state = try? home.state(), !state.isAlive || !home.belongsToThisVault(state) {
                throw CofferError.wiped
            }
        } catch {
            // The lock may have been a wipe or a logout, after which no key of any class may stay.
            cachedKeys.remove(all: true)
            throw error
        }
    }

    /// Throws `unsupported` if the keybag is from an earlier release and cannot identify cached keys, which
    /// no process would therefore find.
    fileprivate func requireIdentifiableKeys() throws(CofferError) {
        let keybag = try readKeybag()
        guard keybag.keys.keys.contains(where: { keybag.publicKeys[$0] == nil }) else { return }
        try keybag.requireComplete(for: "caching the keys of an unlocked vault")
    }

    /// Throws `locked` if another process has locked the vault since the mark was placed. After an announced
    /// unlock, also evicts the keys that a lock evicts.
    private func checkMark(_ mark: UnlockMark?, _ announced: UnlockMark?) throws(CofferError) {
        guard let mark, !mark.isThere else { return }
        if announced != nil { keys.lock(.kernelKeyExpired) }
        throw CofferError.lockedMeanwhile
    }

    fileprivate func mayHold(for duration: Duration?) -> Bool {
        if let end = keys.exactEnd { return duration.map { clock.bootTime() + $0 <= end } ?? false }
        guard let duration, let longest = keys.longestCaching else { return true }
        return duration <= longest
    }
}
