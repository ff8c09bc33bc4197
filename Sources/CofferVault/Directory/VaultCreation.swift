package import CofferBase
package import CofferCrypto
package import CofferEngine
import SystemPackage

/// The creation of vaults. A vault is built under a temporary name and published by one rename, so a crash
/// never leaves an incomplete vault under the final name.
extension VaultDirectory {
    package static let buildPrefix = ".init-"

    /// Creates a vault, or replaces a wiped vault with a new one.
    ///
    /// - Parameters:
    ///   - location: The directory, which is created if it is missing.
    ///   - options: The new vault's settings.
    ///   - passcode: The passcode; `nil` for none.
    ///   - interaction: Whether the user's desktop keyring may prompt the user.
    ///   - addingStores: A closure that creates the stores' files in the vault before the vault is published.
    /// - Returns: The new vault's directory, device key and class keys.
    /// - Throws: Any error that `Vault.create` documents.
    package static func create(
        at location: VaultLocation, options: VaultOptions, passcode: Passcode?,
        interaction: PromptPolicy = .never,
        addingStores: (borrowing Descriptor, DeviceKey) throws(CofferError) -> Void
    ) throws(CofferError) -> (home: VaultDirectory, device: DeviceKey, keys: [ProtectionClass: ClassKey]) {
        let managed = try location.policyDirectory.read()
        try managed.requireMachine()
        try managed.requireKeyring(options.keyring)
        if let passcode { try options.policy.check(passcode) }
        try managed.check(newPasscode: passcode, options.policy)
        _ = try VaultSettings.seconds(of: options.inactivity)
        if options.keyring == .secretService {
            // Create nothing if the Secret Service cannot be used.
            try SecretServiceClient(address: location.sessionBus, interaction: interaction)
                .requireReadable(Deadline(SecretServiceClient.deadline))
        }
        if let parentVault = location.parentVault { try openDirectory(parentVault).throwIfWiped() }
        try checkMedium(of: location.path, managed.tightened(options))
        try makeDirectory(location.path)
        let home = try openDirectory(location, interaction: interaction)
        return try home.withExclusiveLock { () throws(CofferError) in
            let state = try home.state()
            try home.throwIfExisting(state)
            try home.removeUnfinished()
            // Remove the namespaces of the wiped vault, of which only tombstones are left.
            if state?.phase == .wiped {
                try home.throwIfUserVaultsExist()
                try home.directory.removeTree(usersName)
            }
            let vaultID = try VaultID.random()
            let name = FilePath(buildPrefix + vaultID.description)
            try home.directory.makeDirectory(name)
            do throws(CofferError) {
                let built = try home.directory.open(name, [.read, .directory])
                if options.keyring == .secretService { try OrphanedSecretItems(home: home).markUsed(vaultID) }
                let device = try DeviceKey.create(
                    vaultID: vaultID, backend: options.keyring, in: built, service: home.service)
                let keys = try fill(built, device: device, options: options, passcode: passcode)
                try addingStores(built, device)
                try built.sync()
                try home.publish(name, vaultID, overWiped: state?.phase == .wiped)
                return (home, device, keys)
            } catch {
                try? home.directory.removeTree(name)
                if options.keyring == .secretService { home.removeItems(of: vaultID) }
                throw error
            }
        }
    }

    /// Moves the finished vault to its final name.
    ///
    /// If the directory's state is live but the vault is missing, the vault counts as never created. A wiped
    /// directory stays in the wiped state until the new vault is published. Its tombstone receives the new
    /// vault's id before the vault is published, so a crash never leaves a tombstone with the id of a vault
    /// other than the one beside it.
    private func publish(_ name: FilePath, _ vaultID: VaultID, overWiped: Bool) throws(CofferError) {
        let live = VaultStateFile(phase: .active, vaultID: vaultID)
        let first = overWiped ? VaultStateFile(phase: .wiped, vaultID: vaultID) : live
        try first.write(in: directory)
        try directory.renameWithoutReplacing(name, to: Self.vaultName)
        try directory.sync()
        if overWiped { try live.write(in: directory) }
    }

    /// Writes a vault's files, except its device record and its stores' files.
    private static func fill(
        _ vault: borrowing Descriptor, device: DeviceKey, options: VaultOptions, passcode: Passcode?
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        let keys = try ClassKey.make(
            for: ProtectionClass.all(hasPasscode: passcode != nil), vaultID: device.vaultID)
        var keybag = Keybag(
            passcode: nil, policy: options.policy, delaysAttempts: options.delaysAttempts,
            erasesAfterTenFailures: options.erasesAfterTenFailures,
            requiresDiskEncryption: options.requiresDiskEncryption,
            newItemsAreMovable: options.newItemsAreMovable,
            inactivity: try VaultSettings.seconds(of: options.inactivity),
            hostBinding: try MachineFingerprint.current(), keys: [:])
        keybag.allowsRecoveryKey = options.allowsRecoveryKey
        try keybag.protect(keys, with: passcode, cost: options.cost, device: device)
        try Keybag.record.create(keybag, device: device, in: vault)
        try AttemptRecord.record.create(AttemptRecord(), device: device, in: vault)
        if options.keyring == .file { try TokenFile.create(device: device, in: vault) }
        if options.allowsExternalMedia { try MediaPolicy.allow(in: vault) }
        return keys
    }

    /// Removes an unfinished vault's items from the Secret Service. If the removal fails, a later command
    /// removes the items.
    private func removeItems(of vaultID: VaultID) {
        _ = try? OrphanedSecretItems(home: self).remove(vaultID, Deadline(.seconds(1)))
    }

    /// Checks the medium of the deepest existing directory in the path.
    private static func checkMedium(of path: FilePath, _ options: VaultOptions) throws(CofferError) {
        guard !options.allowsExternalMedia || options.requiresDiskEncryption else { return }
        var current = path
        while try !exists(current) { current.removeLastComponent() }
        let directory = try Descriptor.open(current.isEmpty ? "." : current, [.read, .nonBlocking])
        if !options.allowsExternalMedia { try MediaPolicy.check(directory) }
        if options.requiresDiskEncryption { try MediaPolicy.checkEncryption(of: directory) }
    }

    private static func makeDirectory(_ path: FilePath) throws(CofferError) {
        var missing: [FilePath] = []
        var current = path
        while try !exists(current), !current.isEmpty {
            missing.append(current)
            current.removeLastComponent()
        }
        for path in missing.reversed() {
            let parent = path.removingLastComponent()
            let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
            guard let name = path.lastComponent else { continue }
            do throws(CofferError) {
                try directory.makeDirectory(FilePath(root: nil, [name]))
            } catch {
                // Another process may have created the directory in the meantime.
                guard error.code == .alreadyExists else { throw error }
            }
            try? directory.sync()
        }
    }

    private static func exists(_ path: FilePath) throws(CofferError) -> Bool {
        guard !path.isEmpty else { return true }
        do throws(CofferError) {
            _ = try Descriptor.open(path, [.read, .nonBlocking])
            return true
        } catch {
            guard error.code == .absent else { throw error }
            return false
        }
    }

    private func throwIfExisting(_ state: VaultStateFile?) throws(CofferError) {
        let hasVault = try directory.status(of: Self.vaultName) != nil
        guard state?.phase != .wiping else { throw CofferError.wiped }
        guard !hasVault else { throw CofferError(.alreadyExists, "A vault already exists at \(path).") }
    }

    /// Throws `wiped` if this vault is not alive, because creating the next vault here would remove any
    /// namespace inside the wiped vault.
    private func throwIfWiped() throws(CofferError) {
        guard let state = try state(), state.isAlive else { throw CofferError.wiped }
    }

    /// Throws `alreadyExists` if a namespace in a wiped vault was not wiped completely, because only
    /// tombstones may be removed.
    private func throwIfUserVaultsExist() throws(CofferError) {
        guard try directory.status(of: Self.usersName)?.kind == .directory else { return }
        let users = try directory.open(Self.usersName, [.read, .directory])
        for name in try users.names() where try users.status(of: name)?.kind == .directory {
            let path = path.pushing(Self.usersName).pushing(name)
            let state = try Self.openDirectory(location(at: path)).state()
            guard let state, state.phase != .wiped else { continue }
            throw CofferError(
                .alreadyExists,
                "The vault could not be created because a user still has a vault at "
                    + "\(path).", remedy: .eraseUserVault)
        }
    }

    /// Removes what an interrupted creation left behind. Call this function only while you hold the lock,
    /// when no other process can be creating a vault.
    private func removeUnfinished() throws(CofferError) {
        try directory.removeTemporaries()
        for name in try directory.names() where name.string.utf8.hasPrefix(Self.buildPrefix) {
            try directory.removeTree(name)
        }
    }
}

extension Keybag {
    /// Wraps the class keys under the passcode and the device key, or under the device key alone if
    /// `passcode` is `nil`. Afterwards, the keybag contains only these class keys.
    package mutating func protect(
        _ keys: [ProtectionClass: ClassKey], with passcode: Passcode?, cost: Argon2id.Cost,
        device: DeviceKey
    ) throws(CofferError) {
        let derived: DerivedPasscode? =
            if let passcode {
                try DerivedPasscode(passcode, PasscodeParameters.new(cost), device: device)
            } else {
                nil
            }
        try protect(keys, under: derived, device: device)
    }

    /// Wraps the class keys like ``protect(_:with:cost:device:)``, with a passcode from which the key was
    /// already derived.
    package mutating func protect(
        _ keys: [ProtectionClass: ClassKey], under derived: DerivedPasscode?, device: DeviceKey
    ) throws(CofferError) {
        former = former.filter { keys[$0.key] != nil }
        publicKeys = [:]
        for (protection, key) in keys { publicKeys[protection] = try key.publicKey(vaultID: device.vaultID) }
        passcode = derived?.parameters
        passcodeTag = derived?.tag
        if let derived {
            try wrap(keys, under: derived.wrappingKey, vaultID: device.vaultID)
        } else {
            try wrap(keys, under: Keybag.wrappingKey(device: device), vaultID: device.vaultID)
        }
        try renewRecoverySlots(over: keys, device: device)
    }
}
