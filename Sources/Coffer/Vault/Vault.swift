public import CofferBase
@_exported public import struct CofferBase.CofferError
@_exported public import struct CofferCrypto.SecretBytes
import CofferEngine
@_exported public import CofferVault
package import SystemPackage

/// A vault that this process has opened. This class is the library's entry point.
///
/// Open a vault, unlock it, use ``tokens`` and ``files``, and then lock it. Tasks and threads may share a
/// `Vault`, and several processes may open the same vault. Calls that access the disk or derive keys run on
/// separate threads and never block the cooperative pool.
///
/// ```swift
/// let vault = try await Vault(at: .default(for: "hello"))
/// try await vault.unlock(with: .readFromTerminal())
/// try await vault.tokens.put(Token(copying: "…"), for: id)
/// vault.lock()
/// ```
///
/// `deinit` does not run when the process exits or receives a signal, so call ``lock()`` at the end of
/// `main`.
public final class Vault: Sendable {
    let core: VaultCore

    /// The vault's tokens.
    public let tokens: TokenStore

    /// The vault's files.
    public let files: FileStore

    /// The vault's key pairs.
    public let keyPairs: KeyPairStore

    init(core: VaultCore) {
        self.core = core
        tokens = TokenStore(core: core)
        files = FileStore(core: core)
        keyPairs = KeyPairStore(core: core)
    }

    /// The vault's identity.
    public var vaultID: VaultID { core.device.vaultID }

    /// Whether the vault is unlocked: the class keys that a lock evicts are in memory.
    public var isUnlocked: Bool { core.keys.isUnlocked }

    /// Whether any class keys are in memory, including those that outlast a lock.
    package var hasKeys: Bool { !core.keys.all.isEmpty }

    /// Returns whether a class's key is in memory.
    package func hasKey(of protection: ProtectionClass) -> Bool { core.keys.all[protection] != nil }

    /// Registers a closure that is called with the classes whose keys were evicted, as long as `object` is
    /// alive. If `isForAnyLock` is `true`, a lock counts as the eviction of every key. The closure runs on
    /// the thread that evicted the keys, before any event reports the eviction. The vault does not retain
    /// `object`.
    package func onKeyEviction(
        while object: any AnyObject & Sendable, isForAnyLock: Bool = false,
        _ body: @escaping @Sendable (Set<ProtectionClass>) -> Void
    ) {
        core.events.onKeyEviction(while: object, isForAnyLock: isForAnyLock, body)
    }

    /// Throws `locked` or `wiped` if no new item of a class can be protected now, or `refused` if the class
    /// needs a passcode and none is set.
    package func requireKey(forStoring protection: ProtectionClass) throws(CofferError) {
        _ = try core.keyForStoring(protection)
    }

    /// Keeps ephemeral tokens and the keys of new session-only files and databases in the kernel keyring from
    /// now on, where this user's other processes find them.
    package func shareEphemeralTokens() {
        core.ephemeralTokens.share()
        files.volatileKeys.share()
    }

    /// The vault's directory; a wipe removes everything in it.
    package var vaultDirectory: FilePath { core.home.path.pushing(VaultDirectory.vaultName) }

    /// Creates a vault, which is open and unlocked afterwards. A vault that was wiped is replaced.
    ///
    /// - Parameters:
    ///   - location: The vault's directory, which is created if it does not exist.
    ///   - options: The vault's settings.
    ///   - passcode: The passcode; if it is `nil`, the device key alone opens the vault.
    ///   - clock: The clock that the vault uses.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    /// - Returns: The open vault, unlocked.
    /// - Throws: `alreadyExists` if a vault exists; `refused` if the passcode violates the policy, if the
    ///   directory's owner or mode is not safe, or if `options` do not allow the medium; `readOnly` if the
    ///   disk is read-only; `permissionDenied` if the directory is not accessible; `noSpace`; with the Secret
    ///   Service, also the errors that ``migrateStorage(to:passcode:)`` throws.
    public static func create(
        at location: VaultLocation, options: VaultOptions = VaultOptions(), passcode: Passcode?,
        clock: VaultClock = .system, interaction: PromptPolicy = .never
    ) async throws(CofferError) -> Vault {
        try await create(
            at: location, options: options, passcode: passcode, clock: clock, interaction: interaction,
            decoratingStorage: { $0 })
    }

    /// Creates a vault like the public function, but reads and changes its token storage through the storage
    /// that `decorate` returns for it.
    package static func create(
        at location: VaultLocation, options: VaultOptions, passcode: Passcode?, clock: VaultClock,
        interaction: PromptPolicy,
        decoratingStorage decorate: @escaping @Sendable (any ItemStorage) -> any ItemStorage
    ) async throws(CofferError) -> Vault {
        try await BlockingExecutor.run { _ throws(CofferError) in
            try VaultEraser.finishInterrupted(at: location, clock: clock)
            try processCommandsOfParent(location, clock, interaction)
            let created = try VaultDirectory.create(
                at: location, options: options, passcode: passcode, interaction: interaction,
                addingStores: FileStore.create(in:device:))
            let core = try VaultCore(
                home: created.home, device: created.device, clock: clock, actions: .ofStores,
                decoratingStorage: decorate)
            core.keys.insert(created.keys)
            return Vault(core: core)
        }
    }

    /// Opens a vault in the locked state. Opening a vault also finishes an interrupted wipe, carries out
    /// pending commands, and removes view copies and session-only databases that a crash left behind.
    ///
    /// - Parameters:
    ///   - location: The vault's directory.
    ///   - clock: The clock that the vault uses.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    /// - Throws: `notInitialised` if there is no vault; `refused` if the directory's owner or mode is not
    ///   safe; `foreign` if the directory contains files from different vaults; `unsupportedVersion` if a
    ///   newer release wrote the vault; `wiped` or `corrupt`; for a vault whose device key is in the Secret
    ///   Service, also the errors that ``migrateStorage(to:passcode:)`` throws, and `keyringUnavailable` if
    ///   the service has no device key for this vault.
    public convenience init(
        at location: VaultLocation, clock: VaultClock = .system, interaction: PromptPolicy = .never
    ) async throws(CofferError) {
        let core = try await BlockingExecutor.run { _ throws(CofferError) in
            try Vault.openAndProcessCommands(at: location, clock: clock, interaction: interaction)
        }
        self.init(core: core)
    }

    private static func openAndProcessCommands(
        at location: VaultLocation, clock: VaultClock, interaction: PromptPolicy
    ) throws(CofferError) -> VaultCore {
        let core: VaultCore
        do throws(CofferError) {
            core = try openCore(at: location, clock: clock, interaction: interaction)
        } catch {
            try processCommandsWithoutKeybag(after: error, at: location, clock, interaction)
            throw error
        }
        try core.processPendingCommands()
        if let vault = try? core.home.openVault() {
            _ = try? ViewCopyDirectory.removeStale(vault: vault)
            removeEndedDatabases(in: vault, of: [core.device.vaultID], boot: clock.bootIdentifier())
        }
        return core
    }

    /// Carries out a parent vault's pending commands before a namespace is created in it, so that they act on
    /// the vault for which they were accepted. If they fail, the namespace is still created, unless the
    /// parent vault is wiped.
    private static func processCommandsOfParent(
        _ location: VaultLocation, _ clock: VaultClock, _ interaction: PromptPolicy
    ) throws(CofferError) {
        guard let parentVault = location.parentVault,
            let home = try? VaultDirectory.openDirectory(parentVault),
            (try? home.openVault().status(of: RemoteCommandRecord.record.name)) != nil,
            let core = try? openCore(
                at: parentVault, clock: clock, interaction: interaction, allowingCorruptKeybag: true)
        else { return }
        do throws(CofferError) {
            try core.processPendingCommands()
        } catch {
            guard error.code != .wiped else { throw error }
        }
    }

    /// Processes a vault's pending commands without its keybag. Commands and the dead-man's switch do not
    /// need a keybag, so they still lock and erase a vault that is too damaged to open.
    private static func processCommandsWithoutKeybag(
        after error: CofferError, at location: VaultLocation, _ clock: VaultClock,
        _ interaction: PromptPolicy
    ) throws(CofferError) {
        guard RemoteCommandRecord.lastingDamage.contains(error.code),
            let core = try? openCore(
                at: location, clock: clock, interaction: interaction, allowingCorruptKeybag: true)
        else { return }
        do throws(CofferError) {
            try core.processPendingCommands()
        } catch {
            guard error.code != .wiped else { throw error }
        }
    }

    /// Opens a vault without carrying out its pending commands. With `allowingCorruptKeybag`, the keybag may
    /// be damaged.
    static func openCore(
        at location: VaultLocation, clock: VaultClock, interaction: PromptPolicy,
        allowingCorruptKeybag: Bool = false
    ) throws(CofferError) -> VaultCore {
        do throws(CofferError) {
            try VaultEraser.finishInterrupted(at: location, clock: clock)
        } catch {
            // Tokens that cannot be erased yet stay inaccessible; the rest of the vault still opens.
            guard error.code != .foreign,
                (try? VaultDirectory.openDirectory(location).state())?.phase == .wipingTokens
            else { throw error }
        }
        let home = try VaultDirectory.openDirectory(location, interaction: interaction)
        let vault = try home.openVault()
        let device = try deviceKey(of: home, in: vault)
        guard try home.state()?.vaultID == device.vaultID else {
            throw CofferError(
                .foreign,
                "The state record and the device key in \(location.path) belong to different vaults. Restore "
                    + "both from the same backup.")
        }
        return try VaultCore(
            home: home, device: device, clock: clock, actions: .ofStores,
            allowingCorruptKeybag: allowingCorruptKeybag)
    }

    private static func deviceKey(
        of home: VaultDirectory, in vault: borrowing Descriptor
    ) throws(CofferError) -> DeviceKey {
        do throws(CofferError) {
            return try home.mappingMissingFiles { () throws(CofferError) in
                try DeviceKey.read(in: vault, service: home.service)
            }
        } catch {
            // A vault with a copy of the device key is not lost with the key.
            guard error.code == .corrupt, (try? vault.status(of: RecoveryRecord.name)) ?? nil != nil else {
                throw error
            }
            throw CofferError(
                .corrupt, error.message, remedy: .useRecoveryKey, systemError: error.systemError)
        }
    }

    /// Unlocks the vault by unwrapping its class keys. A vault without a passcode ignores any passcode that
    /// is passed.
    ///
    /// The attempt is counted on the disk before the passcode is evaluated, so the disk must be writable.
    /// Only a vault without a passcode also unlocks on a read-only mount.
    ///
    /// If a key rotation was interrupted, the call also goes on with it; see
    /// ``rotateKeys(of:passcode:newPasscode:progress:)``.
    ///
    /// - Throws: `locked` if a passcode is needed and none was passed; `wrongPasscode` with the number of
    ///   attempts left; `attemptDelayed` with the time to wait; `wiped` at the tenth failure, unless
    ///   ``VaultOptions/erasesAfterTenFailures`` is off; `readOnly`.
    public func unlock(with passcode: Passcode? = nil) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.unlock(with: passcode)
            continueRotation()
        }
    }

    /// Unlocks the vault with the password of a login, which may be the passcode. Unlike ``unlock(with:)``,
    /// does not try it if a wrong passcode was counted since the last right one, or if a wrong one would
    /// erase the vault: a login password that is not the passcode costs one attempt at most,
    /// however often it is handed over.
    ///
    /// - Throws: `refused` if the password is not tried; the errors that ``unlock(with:)`` throws.
    package func unlock(withLoginPassword password: Passcode) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.unlock(with: password, isSparing: true)
            continueRotation()
        }
    }

    /// Returns the number of wrong passcodes left before everything is erased; `nil` if no passcode is set or
    /// if wrong passcodes never erase the vault.
    ///
    /// - Throws: `wiped` or `corrupt`.
    package func attemptsLeft() async throws(CofferError) -> Int? {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.attemptsLeft(core.readKeybag())
        }
    }

    /// Locks the vault: evicts the keys for all classes except the two `afterFirstUnlock` classes, including
    /// keys that are cached in the kernel keyring.
    public func lock() {
        core.lock(.requested)
    }

    /// Closes the vault: evicts every key, as a logout does, including those that a lock does not evict.
    public func close() {
        core.close(.requested)
    }

    /// Sets, replaces or removes the passcode. Only the class keys are rewrapped; nothing else is
    /// re-encrypted.
    ///
    /// - Parameters:
    ///   - new: The new passcode; `nil` to remove the passcode.
    ///   - current: The current passcode; `nil` if there is none. It counts as an attempt to unlock.
    /// - Returns: The number of items that removing the passcode destroyed: every item in the class
    ///   ``ProtectionClass/whenPasscodeSetThisDeviceOnly``. To count these items beforehand, call
    ///   ``passcodeDependentItems()``.
    /// - Throws: The errors that ``unlock(with:)`` throws; `refused` if the policy does not allow the new
    ///   passcode.
    @discardableResult
    public func changePasscode(
        to new: Passcode?, current: Passcode?
    ) async throws(CofferError) -> PasscodeDependentItems {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.changePasscode(to: new, current: current)
        }
    }
}
