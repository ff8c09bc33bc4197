public import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
import SystemPackage

/// What can be said of a home without unlocking it.
public struct VaultStatus: Sendable, Equatable {
    /// The state of a home.
    public enum State: String, Sendable {
        /// There is no vault.
        case uninitialised
        /// Its class keys are not at hand.
        case locked
        /// Its class keys are at hand: in the kernel keyring, or no passcode is set.
        case unlocked
        /// It was erased and needs activation.
        case wiped
    }

    /// The state.
    public let state: State
    /// The vault's identity; `nil` when there is none.
    public var vaultID: VaultID?
    /// Where its device key and its tokens are; `nil` when there is none.
    public var keyring: KeyringBackend?
    /// Whether a passcode is set.
    public var hasPasscode = false
    /// Wrong passcodes left before everything is erased; `nil` without a passcode.
    public var attemptsLeft: Int?
    /// Minutes without use until it locks, rounded up; `nil`: after reboot only.
    public var inactivityMinutes: Int?
    /// The number of tokens.
    public var tokens = 0
    /// The number of files.
    public var files = 0
    /// How many interrupted additions and removals of files left something in the home.
    public var unfinishedFiles = 0
    /// How many bytes that is. The next command that lists or changes files removes them.
    public var unfinishedBytes: Int64 = 0
    /// Files whose containers something else than Coffer deleted.
    public var missingFiles: [FileID] = []
    /// Containers of this vault that the index of files does not know, although it shows no damage.
    public var unlistedFiles: [FileID] = []
    /// Whether the index of files is damaged: ``FileStore/reindex()`` rebuilds it.
    public var isFileIndexDamaged = false
    /// Whether the record of the files' keys is damaged: without it no file opens.
    public var isFileKeysRecordDamaged = false
    /// Tokens that were stored while locked and wait for an unlock.
    public var pendingTokens = 0
    /// Such tokens that would replace a stored one and wait for somebody to accept or reject them.
    public var unconfirmedTokens = 0
    /// Such tokens that are damaged.
    public var corruptTokens = 0

    init(_ state: State) { self.state = state }
}

extension Vault {
    /// The status of the home at `location`, with what commands left in the kernel's keyring. Finishes a wipe
    /// that was interrupted.
    ///
    /// - Throws: `refused`, `corrupt`, `foreign`, `unsupportedVersion`: what hinders looking.
    public static func status(at location: VaultLocation) async throws(CofferError) -> VaultStatus {
        let session: Vault
        do throws(CofferError) {
            session = try await open(at: location)
        } catch {
            switch error.code {
            case .notInitialised: return VaultStatus(.uninitialised)
            case .wiped: return VaultStatus(.wiped)
            default: throw error
            }
        }
        session.shareEphemeralTokens()
        return try await session.status()
    }

    /// The status of this session's home.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func status() async throws(CofferError) -> VaultStatus {
        let core = core
        var status = try await BlockingExecutor.run { _ throws(CofferError) in
            let keybag = try core.readKeybag()
            let held = try core.cachedKeys.read(keybag).keys
            let isOpen =
                keybag.passcode == nil || core.keys.isUnlocked || held.keys.contains { $0.isEvictedOnLock }
            var status = VaultStatus(isOpen ? .unlocked : .locked)
            status.vaultID = core.device.vaultID
            status.keyring = try core.keyring.backend()
            status.hasPasscode = keybag.passcode != nil
            status.attemptsLeft = keybag.passcode == nil ? nil : try core.readAttempts().left
            status.inactivityMinutes = keybag.inactivity.map { ($0 + 59) / 60 }
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
        status.pendingTokens = waiting.waiting
        status.unconfirmedTokens = waiting.unconfirmed
        status.corruptTokens = waiting.damaged
        return status
    }

    /// Stores the class keys in the kernel keyring, so that later processes of this user find them.
    ///
    /// Each class has an inactivity time of its own, which use of that class alone starts again. Keys that
    /// this session took from the keyring until an exact time are held no longer than that.
    ///
    /// A lock by another process between ``unlock(with:)`` and this call is not noticed:
    /// ``unlock(with:cachingFor:)`` does both at once.
    ///
    /// - Parameter duration: Until then and no longer; `nil`: the home's inactivity time after each use.
    /// - Throws: `locked`, also when a lock comes meanwhile or the time is longer than that of the keys here;
    ///   `wiped`; `unsupported` or `permissionDenied` where there is no kernel keyring; `noSpace` when it
    ///   takes no more keys of this user.
    public func cacheKeysInKernel(for duration: Duration? = nil) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            try core.cacheKeysInKernel(seconds: duration.map { max(1, Int($0.components.seconds)) })
        }
    }

    /// Unlocks, as ``unlock(with:)``, and holds the keys, as ``cacheKeysInKernel(for:)``. A lock of the vault
    /// by any process of this user that comes in between holds: then no key comes in.
    ///
    /// - Parameters:
    ///   - passcode: The passcode; `nil` where none is set.
    ///   - duration: Until then and no longer; `nil`: the home's inactivity time after each use.
    /// - Throws: As the two of them; `locked` when a lock came meanwhile, and `noSpace` before the passcode
    ///   is evaluated when the kernel keyring takes no more keys of this user.
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

    /// Says that the next ``cacheKeysInKernel(for:)`` holds what is unlocked from here on: it notices a lock,
    /// by any process of this user, that comes in between.
    ///
    /// - Throws: `noSpace` when the kernel keyring takes no more keys of this user.
    package func announceHolding() async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in
            let mark = try UnlockMark.place(for: core.device.vaultID)
            core.unlockMark.withLock { $0 = mark }
        }
    }

    /// Takes back what ``announceHolding()`` said, so that nothing of it stays in the kernel keyring.
    package func withdrawHolding() { core.unlockMark.withLock { $0 = nil } }

    /// Whether ``cacheKeysInKernel(for:)`` can hold the keys of every class for so long with what is here.
    package func canCacheKeys(for duration: Duration?) -> Bool {
        core.keys.isUnlocked && !core.keys.isPartial && core.mayHold(for: duration)
    }

    /// Takes the class keys that an earlier process holds in the kernel keyring; tells whether there are any
    /// that a lock would drop.
    ///
    /// Only keys that belong to this vault's keybag are taken. One whose time is exact goes here at that
    /// time, too. A keybag of an earlier release that no unlock has completed cannot tell: then none is
    /// taken.
    ///
    /// - Throws: `wiped`, `corrupt`.
    public func restoreCachedKeys() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            let locks = core.keys.locks
            let keybag = try core.readKeybag()
            let taken = try core.cachedKeys.read(keybag)
            if core.keys.insert(taken.keys, taken.terms, lacking: taken.lacking, since: locks) {
                core.cachedKeys.share(taken, keybag)
            }
            try? core.drainPendingTokens()
            return core.keys.isUnlocked
        }
    }
}

extension VaultCore {
    /// Stores the keys; what a lock that comes meanwhile drops is not held after it.
    fileprivate func cacheKeysInKernel(seconds: Int?) throws(CofferError) {
        let locks = keys.locks
        let announced = unlockMark.withLock { $0.take() }
        guard keys.isUnlocked else { throw CofferError.locked }
        guard mayHold(for: seconds.map { .seconds($0) }) else {
            throw CofferError(
                .locked,
                "The keys are held until an exact time: unlock with the passcode to hold them longer.")
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
            // A wipe that had removed the marks before this one was placed says so in the state first.
            if let state = try? home.state(), !state.isAlive || !home.belongsToThisVault(state) {
                throw CofferError.wiped
            }
        } catch {
            // It may have been a wipe or a logout, after which no key of any class may stay.
            cachedKeys.remove(all: true)
            throw error
        }
    }

    /// Throws `locked` when another process locked the vault since the mark was placed. An unlock that was
    /// announced then lets nothing into memory either.
    private func checkMark(_ mark: UnlockMark?, _ announced: UnlockMark?) throws(CofferError) {
        guard let mark, !mark.isThere else { return }
        if announced != nil { keys.lock(.kernelKeyExpired) }
        throw CofferError.lockedMeanwhile
    }

    fileprivate func mayHold(for duration: Duration?) -> Bool {
        guard let end = keys.exactEnd else { return true }
        return duration.map { time.bootTime() + $0 <= end } ?? false
    }
}
