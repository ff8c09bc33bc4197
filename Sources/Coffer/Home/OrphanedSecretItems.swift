import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// What vaults of this home may have left in the Secret Service, noted by an empty file `keyring-VAULTID`
/// each.
///
/// The note is on the disk before the first item is made and goes after the last is removed, so that a crash
/// while a vault is made, moved or wiped, or a wipe without the service, is made up for by a later command.
struct OrphanedSecretItems {
    private static let prefix = "keyring-"
    /// What a command spends on remains of the past.
    private static let timeout = Duration.seconds(2)

    let home: VaultDirectory

    /// Notes that `vaultID` has items from now on.
    func markUsed(_ vaultID: VaultID) throws(CofferError) {
        let file = try home.directory.open(Self.name(vaultID), [.readWrite, .create])
        try file.sync()
        try home.directory.sync()
    }

    /// Whether `vaultID` may have items.
    func isNoted(_ vaultID: VaultID) throws(CofferError) -> Bool {
        try home.directory.status(of: Self.name(vaultID)) != nil
    }

    /// Removes the items of one vault, and its note when none is left; gives how many were removed and how
    /// many are left.
    func remove(_ vaultID: VaultID, _ time: Deadline) throws(CofferError) -> (removed: Int, left: Int) {
        let key = try SecretServiceStorage(deviceKeyOf: vaultID, client: home.service).removeAll(time)
        let tokens = try SecretServiceStorage(tokensOf: vaultID, client: home.service).removeAll(time)
        let left = key.left + tokens.left
        if left == 0 { try home.directory.remove(Self.name(vaultID)) }
        return (key.removed + tokens.removed, left)
    }

    /// Removes what does not belong to a live vault that keeps its things in the Secret Service, and a token
    /// file that a move left behind. Without the service, it is tried again another time.
    func collect() throws(CofferError) {
        let isClean = try stale().isEmpty
        let hasFile = try hasStaleFile()
        guard !isClean || hasFile else { return }
        try home.withExclusiveLock { () throws(CofferError) in
            if try hasStaleFile() {
                let vault = try home.openVault()
                try vault.removeTree(TokenFile.fileName)
                try vault.sync()
            }
            let time = Deadline(Self.timeout)
            for vaultID in try stale() { _ = try remove(vaultID, time) }
        }
    }

    /// The vaults that are noted; none where the home cannot be listed.
    var noted: [VaultID] { (try? notes()) ?? [] }

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
        return noted.filter { $0 != live }
    }

    private func hasStaleFile() throws(CofferError) -> Bool {
        guard try liveInService() != nil else { return false }
        let vault = try home.openVault()
        return try vault.status(of: TokenFile.fileName) != nil
    }

    /// The vault of this home, when its things are in the Secret Service.
    private func liveInService() throws(CofferError) -> VaultID? {
        guard let state = try home.state(), state.isAlive,
            try home.directory.status(of: VaultDirectory.vaultName) != nil
        else { return nil }
        let file = try DeviceKeyFile.read(in: home.openVault())
        return file.backend == .secretService ? file.vaultID : nil
    }

    private static func name(_ vaultID: VaultID) -> FilePath { FilePath(prefix + vaultID.description) }
}
