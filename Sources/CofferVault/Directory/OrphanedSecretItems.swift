package import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// The items that vaults in this directory may have left in the Secret Service. One empty file
/// `keyring-VAULTID` marks each such vault.
///
/// The mark is on disk before the first item is created, and is removed after the last item is removed. If a
/// crash interrupts a creation, a migration or a wipe, or if the service is unavailable during a wipe, a
/// later command removes the items.
package struct OrphanedSecretItems {
    private static let prefix = "keyring-"
    /// The time limit for removing orphaned items during another command.
    private static let timeout = Duration.seconds(2)

    package let home: VaultDirectory

    package init(home: VaultDirectory) { self.home = home }

    /// Records on disk that the vault may have items from now on.
    package func markUsed(_ vaultID: VaultID) throws(CofferError) {
        let file = try home.directory.open(Self.name(vaultID), [.readWrite, .create])
        try file.sync()
        try home.directory.sync()
    }

    /// Removes the mark without removing items, so that no command removes them.
    package func forget(_ vaultID: VaultID) throws(CofferError) {
        try home.directory.remove(Self.name(vaultID))
    }

    /// Returns whether the vault may have items.
    package func isNoted(_ vaultID: VaultID) throws(CofferError) -> Bool {
        try home.directory.status(of: Self.name(vaultID)) != nil
    }

    /// Removes one vault's items, and its mark if no item remains. Returns how many items were removed and
    /// how many remain.
    package func remove(
        _ vaultID: VaultID, _ deadline: Deadline
    ) throws(CofferError) -> (removed: Int, remaining: Int) {
        let key = try SecretServiceStorage(deviceKeyOf: vaultID, client: home.service).removeAll(deadline)
        let tokens = try SecretServiceStorage(tokensOf: vaultID, client: home.service).removeAll(deadline)
        let remaining = key.remaining + tokens.remaining
        if remaining == 0 { try home.directory.remove(Self.name(vaultID)) }
        return (key.removed + tokens.removed, remaining)
    }

    /// Removes the items that marked vaults no longer need, and a token file that a migration left behind. If
    /// the service is unavailable, a later call tries again.
    package func collect() throws(CofferError) {
        let isClean = try stale().isEmpty
        let hasFile = try hasStaleFile()
        guard !isClean || hasFile else { return }
        try home.withExclusiveLock { () throws(CofferError) in
            if try hasStaleFile() {
                let vault = try home.openVault()
                try vault.removeTree(TokenFile.fileName)
                try vault.sync()
            }
            let deadline = Deadline(Self.timeout)
            for vaultID in try stale() { _ = try remove(vaultID, deadline) }
        }
    }

    /// The vaults that have a mark; empty if the directory cannot be listed.
    package var noted: [VaultID] { (try? notes()) ?? [] }

    private func notes() throws(CofferError) -> [VaultID] {
        var noted: [VaultID] = []
        for name in try home.directory.names() where name.string.utf8.hasPrefix(Self.prefix) {
            let rest = Substring(name.string.utf8.dropFirst(Self.prefix.utf8.count))
            guard let uuid = UUID(uuidString: String(rest)) else { continue }
            noted.append(VaultID(uuid: uuid))
        }
        return noted
    }

    private func stale() throws(CofferError) -> [VaultID] {
        let noted = try notes()
        guard !noted.isEmpty else { return [] }
        let live = try liveInService()
        let away = try movedAway()
        return noted.filter { $0 != live && $0 != away }
    }

    private func hasStaleFile() throws(CofferError) -> Bool {
        guard try liveInService() != nil else { return false }
        let vault = try home.openVault()
        return try vault.status(of: TokenFile.fileName) != nil
    }

    /// Returns the id of this directory's vault if it is alive and uses the Secret Service.
    private func liveInService() throws(CofferError) -> VaultID? {
        guard let state = try home.state(), state.isAlive,
            try home.directory.status(of: VaultDirectory.vaultName) != nil
        else { return nil }
        let file = try DeviceKeyFile.read(in: home.openVault())
        return file.backend == .secretService ? file.vaultID : nil
    }

    /// Returns the id of the vault that is alive according to the state record but whose directory is
    /// missing. The directory may have been moved away only temporarily, such as during a restore from a
    /// backup, and the vault will then need its device key again.
    private func movedAway() throws(CofferError) -> VaultID? {
        guard let state = try home.state(), state.isAlive,
            try home.directory.status(of: VaultDirectory.vaultName) == nil
        else { return nil }
        return state.vaultID
    }

    private static func name(_ vaultID: VaultID) -> FilePath { FilePath(prefix + vaultID.description) }
}
