package import CofferBase
import CofferCrypto
package import CofferEngine
import Synchronization
package import SystemPackage

/// A vault directory on disk.
///
///     directory/       mode 0700, belongs to the user
///       lock           locked by every process that changes something
///       state          alive, being wiped, or wiped
///       receipt.json   the receipt of the last wipe
///       keyring-…      marks a vault that may have items in the Secret Service
///       vault/         appears complete, by rename, when the vault is created
///         device       vault id and device key, or the key under which the device key is sealed
///         keybag       wrapped class keys
///         attempts     count of wrong passcodes
///         anchors      the vault's number, which is also kept in other places
///         recovery     the device key, wrapped under the recovery key
///         backup         the time of the last backup
///         external     marks a vault that may be on external media
///         prompts      marks a vault for which the desktop keyring may ask for its password
///         orders       trusted keys, signed commands and the dead-man's switch
///         filekeys     wrapped keys that wrap file keys
///         fileindex    the sealed file index
///         tokens       the sealed token file
///         keypairs     the sealed key pairs, if there are any
///         inbox/       pending tokens, stored at the next unlock
///         files/       sealed file containers
///         soups/       encrypted databases, session-only ones in directories of their own
///         leases/      empty files that are locked while their tokens are refreshed
///       vault.next/    files that replace the vault's in one step, for as long as that takes
///       users/         one vault directory for each namespace
package final class VaultDirectory: Sendable {
    package static let vaultName: FilePath = "vault"
    package static let filesName: FilePath = "files"
    package static let keyPairsName: FilePath = "keypairs"
    package static let leasesName: FilePath = "leases"
    package static let usersName: FilePath = "users"
    private static let lockName: FilePath = "lock"
    /// The maximum time for which a change waits for the lock.
    package static let lockDeadline = Duration.seconds(10)

    package let path: FilePath
    package let directory: Descriptor
    /// The id of the expected vault, to distinguish it from a vault that is created later in the same
    /// directory. `nil` until the id is known.
    private let vaultID: VaultID?
    /// The client of the user's Secret Service, for vaults that use the service.
    package let service: SecretServiceClient
    /// The directory with the administrator's policy.
    package let policyDirectory: PolicyDirectory
    /// The opened vault, with the state record's status at the time of opening.
    private let opened = Mutex<(record: FileStatus, vault: VaultHandle)?>(nil)
    private let beforeUnlocking = Mutex<Work?>(nil)

    /// A closure as a generic type keeps it. A `Mutex` of a closure itself would wrap it once more at each
    /// access, and after some 100 000 accesses a call would exceed the stack.
    private struct Work: Sendable {
        let run: @Sendable () -> Void
    }

    private init(
        path: FilePath, directory: consuming Descriptor, vaultID: VaultID?, service: SecretServiceClient,
        policyDirectory: PolicyDirectory
    ) {
        self.policyDirectory = policyDirectory
        self.path = path
        self.directory = directory
        self.vaultID = vaultID
        self.service = service
    }

    /// Returns this directory, restricted to the vault with the id `vaultID`. If the directory later contains
    /// another vault, operations throw `wiped`.
    package func pinned(to vaultID: VaultID) throws(CofferError) -> VaultDirectory {
        VaultDirectory(
            path: path, directory: try directory.duplicate(), vaultID: vaultID, service: service,
            policyDirectory: policyDirectory)
    }

    /// Returns whether `state` is the expected vault's state.
    package func belongsToThisVault(_ state: VaultStateFile) -> Bool { belongsToThisVault(state.vaultID) }

    package func belongsToThisVault(_ id: VaultID) -> Bool { vaultID == nil || vaultID == id }

    /// Opens the directory regardless of its content. Throws `notInitialised` if the directory does not
    /// exist, and `refused` unless only this user can write to it.
    package static func openDirectory(
        _ location: VaultLocation, interaction: PromptPolicy = .never
    ) throws(CofferError) -> VaultDirectory {
        let directory: Descriptor
        do throws(CofferError) {
            directory = try Descriptor.open(location.path, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            throw missing(location.path)
        }
        let status = try directory.status()
        guard status.isOwn, status.permissions & 0o022 == 0 else {
            throw CofferError(
                .refused,
                "\(location.path) must be a directory that belongs to this user and that only this user can "
                    + "write to. Change the owner or the mode of the directory.")
        }
        let interaction = KeyringPromptMark.decided(interaction, in: directory)
        return VaultDirectory(
            path: location.path, directory: directory, vaultID: nil,
            service: SecretServiceClient(address: location.sessionBus, interaction: interaction),
            policyDirectory: location.policyDirectory)
    }

    /// Opens a vault directory for erasure, regardless of its mode, if the directory belongs to this user.
    ///
    /// - Parameters:
    ///   - location: The vault directory's location.
    ///   - isVault: A closure that returns whether a directory whose mode had to be changed contains a vault.
    /// - Returns: The opened directory.
    /// - Throws: `notInitialised` if there is no vault; `refused` if the directory belongs to another user.
    package static func openForWiping(
        _ location: VaultLocation, isVault: (VaultDirectory) -> Bool
    ) throws(CofferError) -> VaultDirectory {
        do throws(CofferError) {
            return try forWiping(Descriptor.open(location.path, [.read, .directory]), location)
        } catch {
            guard error.code == .permissionDenied, let name = location.path.lastComponent else {
                throw error.code == .absent ? missing(location.path) : error
            }
            let parent = location.path.removingLastComponent()
            let base = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
            let entry = FilePath(root: nil, [name])
            let old = try base.status(of: entry)?.permissions
            let home = try forWiping(base.openClosed(entry), location)
            // Restore the mode of a directory that does not contain a vault.
            guard isVault(home) else {
                if let old { try? home.directory.setPermissions(old) }
                throw missing(location.path)
            }
            return home
        }
    }

    /// Opens a namespace's directory inside this directory to erase the namespace.
    package func namespaceForWiping(_ name: FilePath) throws(CofferError) -> VaultDirectory {
        let users = try directory.openClosed(Self.usersName)
        let location = location(at: path.pushing(Self.usersName).pushing(name))
        return try Self.forWiping(users.openClosed(name), location)
    }

    /// Returns a location that has everything but its path from this directory.
    package func location(at path: FilePath) -> VaultLocation {
        var location = VaultLocation(path: path, sessionBus: service.address)
        location.policyDirectory = policyDirectory
        return location
    }

    private static func forWiping(
        _ directory: consuming Descriptor, _ location: VaultLocation
    ) throws(CofferError) -> VaultDirectory {
        guard try directory.status().isOwn else {
            throw CofferError(
                .refused, "\(location.path) was not changed because the directory belongs to another user.")
        }
        return VaultDirectory(
            path: location.path, directory: directory, vaultID: nil,
            service: SecretServiceClient(address: location.sessionBus, interaction: .never),
            policyDirectory: location.policyDirectory)
    }

    package static func missing(_ path: FilePath) -> CofferError {
        CofferError(.notInitialised, "There is no vault at \(path).", remedy: .createVault)
    }

    /// Returns the state record; `nil` if no vault was ever created here.
    package func state() throws(CofferError) -> VaultStateFile? { try VaultStateFile.read(in: directory) }

    /// Opens the vault's directory for use. Throws `notInitialised` if there is no vault, `wiped` if the
    /// vault was wiped, and `corrupt` if the state record is missing. If `forTokens` is `true`, also throws
    /// `busy` while the tokens are being erased.
    package func openVault(forTokens: Bool = false) throws(CofferError) -> Descriptor {
        let state = try settledState()
        switch state?.phase {
        case nil:
            guard try directory.status(of: Self.vaultName) == nil else {
                throw CofferError(
                    .corrupt, "The vault's state record is missing.", remedy: .restoreOrWipeVault)
            }
            throw Self.missing(path)
        case .wiping, .wiped: throw CofferError.wiped
        case .wipingTokens:
            guard !forTokens else {
                throw CofferError(.busy, "The vault's tokens are being erased. Open the vault again.")
            }
        case .active, .replacing: break
        }
        if let state, !belongsToThisVault(state) { throw CofferError.wiped }
        do throws(CofferError) {
            return try directory.open(Self.vaultName, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .notInitialised,
                "The vault in \(path) is missing because its creation was interrupted or the vault was moved "
                    + "away.",
                remedy: .returnOrCreateVault)
        }
    }

    /// Returns the state record, after a replacement of files that was interrupted is finished. Waits for one
    /// that another process is about to finish.
    private func settledState() throws(CofferError) -> VaultStateFile? {
        let state = try state()
        guard state?.phase == .replacing else { return state }
        guard try directory.status(of: Self.nextName) != nil else {
            let again = try self.state()
            guard again?.phase == .replacing else { return again }
            throw CofferError(
                .corrupt, "The files that were about to replace others are missing.",
                remedy: .restoreOrWipeVault)
        }
        try withExclusiveLock { () throws(CofferError) in }
        return try self.state()
    }

    /// Returns the vault's directory for token access. The same descriptor is reused until the state record
    /// changes.
    package func tokenVault() throws(CofferError) -> VaultHandle {
        let record = try directory.status(of: VaultStateFile.fileName)
        if let record, let vault = opened.withLock({ $0?.record == record ? $0?.vault : nil }) {
            return vault
        }
        let vault = VaultHandle(try openVault(forTokens: true))
        if let record, record.isSettled { opened.withLock { $0 = (record, vault) } }
        return vault
    }

    /// Has `work` called at the end of all work under the exclusive lock, also after an error, while the lock
    /// is still held.
    package func beforeUnlocking(_ work: @escaping @Sendable () -> Void) {
        beforeUnlocking.withLock { $0 = Work(run: work) }
    }

    /// Runs `body` while no other process or thread changes this vault.
    package func withExclusiveLock<Result: ~Copyable>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        let lock = try exclusiveLock()
        defer {
            beforeUnlocking.withLock { $0 }?.run()
            extendLifetime(lock)
        }
        try settleNext()
        return try body()
    }

    private func exclusiveLock() throws(CofferError) -> FileLock {
        do throws(CofferError) {
            return try FileLock.acquire(Self.lockName, in: directory, deadline: Self.lockDeadline)
        } catch {
            throw explainingReadOnly(error)
        }
    }

    /// Runs `body` with the vault's directory while no other process changes this vault. Writes nothing, not
    /// even to the lock's file: for a mount that is read-only here but may be writable elsewhere.
    package func withReadOnlyVault<Result>(
        _ body: (borrowing Descriptor) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        let lock = try FileLock.acquireShared(
            existing: Self.lockName, in: directory, deadline: Self.lockDeadline)
        defer { extendLifetime(lock) }
        let vault = try openVault()
        return try mappingMissingFiles { () throws(CofferError) in try body(vault) }
    }

    /// Explains why the directory must be writable: even unlocking with a passcode records the attempt there.
    private func explainingReadOnly(_ error: CofferError) -> CofferError {
        guard error.code == .readOnly || error.code == .permissionDenied else { return error }
        return CofferError(
            error.code,
            "The vault directory \(path) must be writable because every change and every passcode attempt is "
                + "recorded there. \(error.message)",
            remedy: error.remedy, systemError: error.systemError)
    }

    /// Runs `body` under the lock like ``withExclusiveLock(_:)``. If the lock cannot be acquired in time,
    /// runs `body` without the lock and passes the error to `body`. Use this function for work that must not
    /// fail, such as a wipe: a process that holds the lock must not be able to keep the wipe from overwriting
    /// keys. Calls `waiting` once before waiting for a lock that another process holds.
    package func insisting<Result: ~Copyable>(
        within deadline: Duration = lockDeadline, waiting: () -> Void = {},
        _ body: (_ hindrance: CofferError?) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        var lock: FileLock?
        var hindrance: CofferError?
        do throws(CofferError) {
            lock = try FileLock.tryAcquire(Self.lockName, in: directory)
            if lock == nil {
                waiting()
                lock = try FileLock.acquire(Self.lockName, in: directory, deadline: deadline)
            }
        } catch {
            hindrance = error
        }
        defer { extendLifetime(lock) }
        return try body(hindrance)
    }

    /// Runs `body` with the vault's directory, under the lock like ``withExclusiveLock(_:)``. Throws `wiped`
    /// if the vault was wiped in the meantime.
    package func withExclusiveVault<Result: ~Copyable>(
        _ body: (borrowing Descriptor) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        try withExclusiveLock { () throws(CofferError) in
            let vault = try openVault()
            return try mappingMissingFiles { () throws(CofferError) in try body(vault) }
        }
    }
}

/// A vault's open directory, shared by its readers.
package final class VaultHandle: Sendable {
    package let directory: Descriptor

    package init(_ directory: consuming Descriptor) { self.directory = directory }
}

extension CofferError {
    package static var wiped: CofferError {
        CofferError(.wiped, "This vault was wiped.", remedy: .activateVault)
    }

    package static var locked: CofferError {
        CofferError(.locked, "The vault is locked.", remedy: .unlockVault)
    }

    package static var lockedMeanwhile: CofferError {
        CofferError(.locked, "The vault was locked again during the unlock. Unlock the vault again.")
    }
}

extension VaultDirectory {
    /// Runs `body` and maps its errors for files that disappear or are overwritten during the call: to
    /// `wiped` if the state record shows a wipe, otherwise to `corrupt`.
    package func mappingMissingFiles<Result: ~Copyable>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            // The system refuses to open an entry that is not a regular file.
            let isNoFile = error.code == .refused && error.systemError != nil
            let isGone = error.code == .absent || isNoFile
            guard isGone || error.code == .corrupt else { throw namingRelease(error) }
            guard let state = try state(), state.isAlive, belongsToThisVault(state) else {
                throw CofferError.wiped
            }
            guard isGone else { throw error }
            throw CofferError(
                .corrupt, "One of the vault's files is missing or is not a regular file. \(error.message)",
                remedy: .restoreOrWipeVault)
        }
    }
}
