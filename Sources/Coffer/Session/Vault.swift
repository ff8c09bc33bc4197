public import CofferBase
@_exported public import CofferCrypto
import CofferEngine
package import SystemPackage

/// The front door: one vault, opened by one process.
///
/// Open it, unlock it, use ``tokens`` and ``files``, lock it. A session may be shared between tasks and
/// threads; several processes may have sessions on one home. Calls that touch the disk or derive keys run on
/// threads of their own and never block the cooperative pool.
///
/// ```swift
/// let session = try await Session.open(at: .default(for: "hello"))
/// try await session.unlock(with: .readFromTerminal())
/// try await session.tokens.put(Token(copying: "…"), for: id)
/// session.lock()
/// ```
///
/// Not guaranteed: `deinit` does not run at exit or on a signal. Lock at the end of `main`.
public final class Vault: Sendable {
    let core: VaultCore

    /// The token vault.
    public let tokens: TokenStore

    /// The file store.
    public let files: FileStore

    init(core: VaultCore) {
        self.core = core
        tokens = TokenStore(core: core)
        files = FileStore(core: core)
    }

    /// The vault's identity.
    public var vaultID: VaultID { core.device.vaultID }

    /// Whether class keys are in memory.
    public var isUnlocked: Bool { core.keys.isUnlocked }

    /// Whether class keys of any class are in memory, also those that outlast a lock.
    package var hasKeys: Bool { !core.keys.all.isEmpty }

    /// Whether the key of a class is in memory.
    package func hasKey(of protection: ProtectionClass) -> Bool { core.keys.all[protection] != nil }

    /// Calls `body` with the classes whose keys are gone, on the thread that they went on and before anybody
    /// hears of it, as long as `object` is there. It is not kept alive by this.
    package func onKeyEviction(
        while object: any AnyObject & Sendable, _ body: @escaping @Sendable (Set<ProtectionClass>) -> Void
    ) {
        core.hub.onKeyEviction(while: object, body)
    }

    /// Keeps volatile tokens in the kernel's keyring from here on, where other processes of this user find
    /// them.
    package func shareEphemeralTokens() { core.ephemeralTokens.share() }

    /// What tests let go wrong with the keyring.
    package var keyringFaults: KeyringFaults { core.keyring.faults }

    /// The vault's directory; whatever is in it goes when the vault is wiped.
    package var vaultDirectory: FilePath { core.home.path.pushing(VaultDirectory.vaultName) }

    /// Makes a home and opens it, unlocked. Also activates a home that was wiped.
    ///
    /// - Parameters:
    ///   - location: The home's directory; it is made when it does not exist.
    ///   - options: How it is set up.
    ///   - passcode: `nil` for none: then whoever can read the home can open it.
    ///   - time: The clocks to go by.
    ///   - interaction: Whether the user's keyring may ask the user.
    /// - Returns: The open session.
    /// - Throws: `alreadyExists` when there is a vault; `refused` by the passcode policy or by the
    ///   directory's owner or mode; `noSpace`, `readOnly`, `permissionDenied`; with the Secret Service also
    ///   what ``migrateStorage(to:passcode:)`` throws.
    public static func create(
        at location: VaultLocation, options: VaultOptions = VaultOptions(), passcode: Passcode?,
        time: VaultClock = .system, interaction: PromptPolicy = .never
    ) async throws(CofferError) -> Vault {
        try await BlockingExecutor.run { _ throws(CofferError) in
            try VaultEraser.finishInterrupted(at: location, time: time)
            try attendToEnclosing(location, time, interaction)
            let made = try VaultDirectory.create(
                at: location, options: options, passcode: passcode, interaction: interaction)
            let core = try VaultCore(home: made.home, device: made.device, time: time)
            core.keys.insert(made.keys)
            return Vault(core: core)
        }
    }

    /// Opens a home, locked. Finishes a wipe that was interrupted and removes view copies that a crash left.
    ///
    /// - Parameters:
    ///   - location: The home's directory.
    ///   - time: The clocks to go by.
    ///   - interaction: Whether the user's keyring may ask the user.
    /// - Returns: The open session.
    /// - Throws: `notInitialised`, `wiped`, `refused`, `corrupt`, `foreign`, `unsupportedVersion`; for a
    ///   vault in the Secret Service also what ``migrateStorage(to:passcode:)`` throws, and
    ///   `keyringUnavailable` when the service has no device key of this vault.
    public static func open(
        at location: VaultLocation, time: VaultClock = .system, interaction: PromptPolicy = .never
    ) async throws(CofferError) -> Vault {
        try await BlockingExecutor.run { _ throws(CofferError) in
            let core: VaultCore
            do throws(CofferError) {
                core = try openCore(at: location, time: time, interaction: interaction)
            } catch {
                try attendWithoutKeybag(after: error, at: location, time, interaction)
                throw error
            }
            try core.processPendingCommands()
            _ = try? ViewCopyDirectory.removeStale(vault: core.home.openVault())
            return Vault(core: core)
        }
    }

    /// Has the home around a namespace carry out the orders that it took, so that they find the vault that
    /// they were taken for. What keeps them keeps no namespace from being made.
    private static func attendToEnclosing(
        _ location: VaultLocation, _ time: VaultClock, _ interaction: PromptPolicy
    ) throws(CofferError) {
        guard let parentVault = location.parentVault,
            let home = try? VaultDirectory.openDirectory(parentVault),
            (try? home.openVault().status(of: RemoteCommandRecord.record.name)) != nil,
            let core = try? openCore(at: parentVault, time: time, interaction: interaction, forOrders: true)
        else { return }
        do throws(CofferError) {
            try core.processPendingCommands()
        } catch {
            guard error.code != .wiped else { throw error }
        }
    }

    /// Orders and the dead-man's switch need no keybag: what a damaged home keeps from opening, they still
    /// lock and erase.
    private static func attendWithoutKeybag(
        after error: CofferError, at location: VaultLocation, _ time: VaultClock,
        _ interaction: PromptPolicy
    ) throws(CofferError) {
        guard RemoteCommandRecord.lastingDamage.contains(error.code),
            let core = try? openCore(at: location, time: time, interaction: interaction, forOrders: true)
        else { return }
        do throws(CofferError) {
            try core.processPendingCommands()
        } catch {
            guard error.code != .wiped else { throw error }
        }
    }

    /// Opens a home and nothing else: an order that waits to be carried out still waits. `forOrders`, the
    /// keybag may be damaged.
    static func openCore(
        at location: VaultLocation, time: VaultClock, interaction: PromptPolicy, forOrders: Bool = false
    ) throws(CofferError) -> VaultCore {
        do throws(CofferError) {
            try VaultEraser.finishInterrupted(at: location, time: time)
        } catch {
            // Tokens that cannot be erased yet stay out of reach, and keep nobody from the rest.
            guard error.code != .foreign,
                (try? VaultDirectory.openDirectory(location).state())?.phase == .wipingTokens
            else { throw error }
        }
        let home = try VaultDirectory.openDirectory(location, interaction: interaction)
        let vault = try home.openVault()
        let device = try home.mappingMissingFiles { () throws(CofferError) in
            try DeviceKey.read(in: vault, service: home.service)
        }
        guard try home.state()?.vaultID == device.vaultID else {
            throw CofferError(.foreign, "The vault in \(location.path) belongs to another home.")
        }
        return try VaultCore(home: home, device: device, time: time, forOrders: forOrders)
    }

    /// Unwraps the class keys. A home without a passcode needs none; one given is then ignored.
    ///
    /// The attempt is counted on the disk before the passcode is evaluated.
    ///
    /// - Throws: `locked` when a passcode is needed and none was given; `wrongPasscode` with the attempts
    ///   left; `attemptDelayed` with how long to wait; `wiped` at the tenth failure.
    public func unlock(with passcode: Passcode? = nil) async throws(CofferError) {
        let core = core
        try await BlockingExecutor.run { _ throws(CofferError) in try core.unlock(with: passcode) }
    }

    /// Drops the keys of every class that a lock drops, also those lent to the kernel keyring.
    public func lock() {
        core.lock(.requested)
    }

    /// Drops every key, as a logout does.
    public func close() {
        core.close(.requested)
    }

    /// Sets, replaces or removes the passcode: the class keys are wrapped anew, nothing else is encrypted
    /// again.
    ///
    /// - Parameters:
    ///   - new: The new passcode; `nil` removes it.
    ///   - current: The passcode now set, `nil` when there is none. Counted like an attempt to unlock.
    /// - Returns: What removing the passcode destroyed: every item of the class
    ///   ``ProtectionClass/whenPasscodeSetThisDeviceOnly``. Ask ``passcodeDependentItems()`` beforehand.
    /// - Throws: As ``unlock(with:)``; `refused` by the policy.
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
