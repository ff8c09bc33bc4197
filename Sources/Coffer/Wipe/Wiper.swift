import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// Erases a vault: tombstone, memory, keys, data, proof. Each step may be repeated: already gone is success.
/// A crash anywhere after the tombstone is finished by whoever opens the home next, without a passcode.
struct Wiper {
    let home: Home
    let time: TimeSource

    static let receiptName: FilePath = "receipt.json"
    /// The files that hold keys or what opens them.
    private static let keyFiles: [FilePath] = [
        Keybag.record.name, FileKeys.record.name, DeviceFile.name, Attempts.record.name,
    ]

    /// Finishes a wipe that was interrupted, if there is one.
    static func finishInterrupted(at location: HomeLocation, time: TimeSource) throws(CofferError) {
        let home: Home
        do throws(CofferError) {
            home = try Home.openDirectory(location)
        } catch {
            guard error.code == .notInitialised else { throw error }
            return
        }
        let wiper = Wiper(home: home, time: time)
        if try wiper.isInterrupted() {
            try home.exclusively { () throws(CofferError) in
                guard try wiper.isInterrupted(), let state = try home.state() else { return }
                _ = try wiper.finish(
                    state.vaultID, reason: "an interrupted wipe", completes: true, forgetting: {})
            }
        }
        try? KeyringRemains(home: home).tidy()
    }

    private func isInterrupted() throws(CofferError) -> Bool {
        switch try home.state()?.word {
        case .wiping: true
        case .wiped: try home.directory.status(of: Home.vaultName) != nil
        case .live, nil: false
        }
    }

    /// Wipes. Before the tombstone is on the disk, nothing has happened; after it, there is no way back:
    /// `forgetting` then drops what is in memory.
    func wipe(reason: String, forgetting: () -> Void) throws(CofferError) -> WipeReceipt {
        try home.exclusively { () throws(CofferError) in
            guard let state = try home.state() else {
                throw CofferError(.notInitialised, "There is no vault at \(home.path) to wipe.")
            }
            guard state.word != .wiped, home.isOwn(state) else { throw CofferError.wiped }
            let isResumed = state.word == .wiping
            if !isResumed { try HomeState(word: .wiping, vaultID: state.vaultID).write(in: home.directory) }
            return try finish(state.vaultID, reason: reason, completes: isResumed, forgetting: forgetting)
        }
    }

    /// Everything after the tombstone.
    private func finish(
        _ vaultID: VaultID, reason: String, completes: Bool, forgetting: () -> Void
    ) throws(CofferError) -> WipeReceipt {
        let started = time.wall()
        let begin = Clock.sinceBoot
        forgetting()
        HeldKeys.remove(vaultID: vaultID, all: true)
        var removed: [String: Int] = [:]
        var keysGone = Clock.sinceBoot
        if try home.directory.status(of: Home.vaultName) != nil {
            let vault = try home.directory.open(Home.vaultName, [.read, .directory])
            removed["keys"] = try destroyKeys(in: vault)
            keysGone = Clock.sinceBoot
            try removeData(of: vaultID, in: vault, &removed)
            try home.directory.removeDirectory(Home.vaultName)
        } else {
            removed["viewCopies"] = try ViewRoots.removeAll(of: vaultID, recorded: nil)
        }
        try removeUnfinishedHomes()
        try home.directory.sync()
        guard try home.directory.status(of: Home.vaultName) == nil else {
            throw CofferError(.inputOutput, "The vault's directory is still there after it was removed.")
        }
        var unproved = Self.unproved
        if let remaining = try removeItems(of: vaultID, &removed) { unproved.append(remaining) }
        let receipt = WipeReceipt(
            vaultID: vaultID.uuid, reason: reason,
            started: Date(nanosecondsSince1970: started.nanoseconds),
            finished: Date(nanosecondsSince1970: time.wall().nanoseconds),
            keysDestroyedAfterMilliseconds: Double((keysGone - begin).nanoseconds) / 1e6,
            completesInterrupted: completes, removed: removed, unproved: unproved)
        keep(receipt)
        try HomeState(word: .wiped, vaultID: vaultID).write(in: home.directory)
        return receipt
    }

    /// Overwrites what opens everything else, in place, flushes, and only then removes it. From here all is
    /// noise.
    private func destroyKeys(in vault: borrowing Descriptor) throws(CofferError) -> Int {
        var count = 0
        for name in Self.keyFiles where try vault.status(of: name)?.kind == .regular {
            try vault.overwrite(name)
            count += 1
        }
        for name in Self.keyFiles { try vault.removeTree(name) }
        try vault.sync()
        return count
    }

    /// Removes what the vault has in the Secret Service, last, since that may not answer; gives what to say
    /// when something remains there. Nothing opens it: the key that it is sealed under is gone.
    private func removeItems(
        of vaultID: VaultID, _ removed: inout [String: Int]
    ) throws(CofferError) -> String? {
        let remains = KeyringRemains(home: home)
        guard try remains.isNoted(vaultID) else { return nil }
        let next = "the next command on the home tries again"
        do throws(CofferError) {
            let (count, left) = try remains.remove(vaultID, CallDeadline(SecretServiceClient.deadline))
            removed["keyringItems"] = count
            return left == 0 ? nil : "\(left) sealed items in the user's keyring, which is locked; \(next)"
        } catch {
            return "sealed items in the Secret Service (\(error.code.name)); \(next)"
        }
    }

    private func removeData(
        of vaultID: VaultID, in vault: borrowing Descriptor, _ removed: inout [String: Int]
    ) throws(CofferError) {
        removed["viewCopies"] = try ViewRoots.removeAll(
            of: vaultID, recorded: try? ViewRoots.recordedName(vault))
        if let status = try vault.status(of: Home.filesName), status.kind == .directory {
            let files = try vault.open(Home.filesName, [.read, .directory])
            removed["files"] = try files.names().count
        }
        for name in try vault.names() {
            switch name {
            case Home.filesName: break
            case TokenFile.fileName: removed["tokenFiles", default: 0] += 1
            default: removed["others", default: 0] += 1
            }
            try vault.removeTree(name)
        }
        try vault.sync()
    }

    private func removeUnfinishedHomes() throws(CofferError) {
        for name in try home.directory.names() where name.string.hasPrefix(Home.buildPrefix) {
            try home.directory.removeTree(name)
        }
    }

    /// Kept beside the tombstone for whoever asks later; a full disk does not stop the wipe.
    private func keep(_ receipt: WipeReceipt) {
        guard let bytes = try? receipt.json else { return }
        try? home.directory.removeTemporaries()
        try? home.directory.replace(Self.receiptName, with: bytes.span)
    }

    private static let unproved = [
        "copies made before the wipe: backups, snapshots, images of the disk",
        "old blocks kept by flash wear levelling or copy-on-write file systems",
        "swap and hibernation images",
        "what was exported, or copied by other programs from view copies",
    ]
}

extension WipeReceipt {
    /// The receipt as JSON.
    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            encoder.dateEncodingStrategy = .iso8601
            return Array(try encoder.encode(self))
        }
    }
}
