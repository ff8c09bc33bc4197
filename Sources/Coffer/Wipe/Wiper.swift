import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// Erases a vault: tombstone, memory, keys, data, proof. Each step may be repeated: already gone is success.
/// A crash anywhere after the tombstone is finished by whoever opens the home next, without a passcode.
struct Wiper {
    let home: Home
    let time: TimeSource
    /// Told of every step, from the thread that wipes.
    var report: @Sendable (WipeProgress) -> Void = { _ in }
    /// The digest of the signed order that is carried out; `nil` without one.
    var orderDigest: String?

    static let receiptName: FilePath = "receipt.json"
    /// The files that hold keys or what opens them.
    private static let keyFiles: [FilePath] = [
        Keybag.record.name, FileKeys.record.name, DeviceFile.name, Attempts.record.name,
    ]

    /// Finishes a wipe that was interrupted, if there is one; of a namespace, also that of the home around
    /// it.
    static func finishInterrupted(at location: HomeLocation, time: TimeSource) throws(CofferError) {
        if let enclosing = location.enclosing { try finishInterrupted(at: enclosing, time: time) }
        let home: Home
        do throws(CofferError) {
            home = try Home.openDirectory(location)
        } catch {
            guard error.code == .notInitialised else { throw error }
            return
        }
        var wiper = Wiper(home: home, time: time)
        if try wiper.isInterrupted() {
            try home.exclusively { () throws(CofferError) in
                guard try wiper.isInterrupted(), let state = try home.state() else { return }
                wiper.orderDigest = state.cause?.orderDigest
                let reason = state.cause?.reason ?? "an interrupted wipe"
                if state.word == .wipingTokens {
                    _ = try wiper.finishTokens(state.vaultID, reason: reason, completes: true, device: nil)
                } else {
                    _ = try wiper.finish(state.vaultID, reason: reason, completes: true)
                }
            }
        }
        try? KeyringRemains(home: home).tidy()
    }

    func isInterrupted() throws(CofferError) -> Bool {
        switch try home.state()?.word {
        case .wiping, .wipingTokens: true
        case .wiped: try home.directory.status(of: Home.vaultName) != nil
        case .live, nil: false
        }
    }

    /// Wipes what `scope` says. Before the tombstone is on the disk, nothing has happened; after it, there is
    /// no way back.
    ///
    /// - Parameters:
    ///   - scope: What is erased.
    ///   - reason: What the receipt says.
    ///   - core: The session that asks, which forgets what it has in memory; `nil` when nobody opened the
    ///     vault.
    /// - Returns: What was removed.
    /// - Throws: As ``Session/wipe(_:reason:)``.
    func wipe(_ scope: WipeScope, reason: String, by core: SessionCore?) throws(CofferError) -> WipeReceipt {
        switch scope {
        case .all, .tokens: return try wipeHere(scope, reason: reason, by: core)
        case .user(let user):
            let location = try HomeLocation(path: home.path, sessionBus: home.service.address)
                .namespace(of: user)
            try Self.finishInterrupted(at: location, time: time)
            let namespace = try Home.openDirectory(location)
            _ = try namespace.openVault()
            let wiper = Wiper(home: namespace, time: time, report: report, orderDigest: orderDigest)
            return try wiper.wipeHere(scope, reason: reason, by: nil)
        }
    }

    /// Wipes the vault of this home, or its tokens.
    private func wipeHere(
        _ scope: WipeScope, reason: String, by core: SessionCore?
    ) throws(CofferError) -> WipeReceipt {
        let word = scope == .tokens ? HomeState.Word.wipingTokens : .wiping
        do throws(CofferError) {
            return try home.exclusively { () throws(CofferError) in
                guard let state = try home.state() else {
                    throw CofferError(.notInitialised, "There is no vault at \(home.path) to wipe.")
                }
                guard state.word != .wiped, home.isOwn(state), word == .wiping || state.isAlive else {
                    throw CofferError.wiped
                }
                let isResumed = state.word == word
                if !isResumed { try markWiped(word, state.vaultID, reason: reason) }
                report(WipeProgress(.tombstone))
                guard word == .wiping else {
                    return try finishTokens(
                        state.vaultID, reason: reason, completes: isResumed, device: core?.device)
                }
                return try finish(state.vaultID, reason: reason, scope: scope, completes: isResumed)
            }
        } catch {
            guard error.code == .readOnly, scope != .tokens else { throw error }
            throw dropWithoutTheDisk(error)
        }
    }

    /// Writes the tombstone.
    func markWiped(_ word: HomeState.Word, _ vaultID: VaultID, reason: String) throws(CofferError) {
        let cause = WipeCause(reason: reason, orderDigest: orderDigest)
        try HomeState(word: word, vaultID: vaultID, cause: cause).write(in: home.directory)
    }

    /// Everything after the tombstone.
    func finish(
        _ vaultID: VaultID, reason: String, scope: WipeScope = .all, completes: Bool
    ) throws(CofferError) -> WipeReceipt {
        let started = time.wall()
        let begin = Clock.sinceBoot
        for core in OpenSessions.of(vaultID) { core.forget() }
        HeldKeys.remove(vaultID: vaultID, all: true)
        report(WipeProgress(.memory))
        var removed: [String: Int] = [:]
        var keysGone = Clock.sinceBoot
        if try home.directory.status(of: Home.vaultName) != nil {
            let vault = try home.directory.open(Home.vaultName, [.read, .directory])
            removed["keys"] = try destroyKeys(in: vault)
            try destroyKeysOfNamespaces(reason: reason)
            keysGone = Clock.sinceBoot
            report(WipeProgress(.keys))
            try removeData(of: vaultID, in: vault, &removed)
            try home.directory.removeDirectory(Home.vaultName)
        } else {
            removed["viewCopies"] = try ViewRoots.removeAll(of: vaultID, recorded: nil)
        }
        try wipeNamespaces(reason: reason, &removed)
        try removeUnfinishedHomes()
        try home.directory.sync()
        guard try home.directory.status(of: Home.vaultName) == nil else {
            throw CofferError(.inputOutput, "The vault's directory is still there after it was removed.")
        }
        var unproved = Self.unproved
        if let remaining = try removeItems(of: vaultID, &removed) { unproved.append(remaining) }
        if HeldKeys.isAnyLeft(vaultID: vaultID) { unproved.append("a key in the kernel keyring") }
        let receipt = WipeReceipt(
            vaultID: vaultID.uuid, scope: scope.name, reason: reason, orderDigest: orderDigest,
            started: Date(nanosecondsSince1970: started.nanoseconds),
            finished: Date(nanosecondsSince1970: time.wall().nanoseconds),
            keysDestroyedAfterMilliseconds: Double((keysGone - begin).nanoseconds) / 1e6,
            completesInterrupted: completes, removed: removed, unproved: unproved)
        keep(receipt)
        try HomeState(word: .wiped, vaultID: vaultID).write(in: home.directory)
        report(WipeProgress(.proof))
        return receipt
    }

    /// What can be done where the disk takes no tombstone: what is in memory and in keyrings goes. With its
    /// device key in the Secret Service, the vault opens with nothing after that.
    private func dropWithoutTheDisk(_ error: CofferError) -> CofferError {
        guard let state = try? home.state(), state.isAlive, home.isOwn(state) else { return error }
        let vaultID = state.vaultID
        for core in OpenSessions.of(vaultID) { core.close(.asked) }
        HeldKeys.remove(vaultID: vaultID, all: true)
        let vault = try? home.openVault()
        var recorded: String?
        if let vault { recorded = try? ViewRoots.recordedName(vault) }
        _ = try? ViewRoots.removeAll(of: vaultID, recorded: recorded)
        let remains = KeyringRemains(home: home)
        if (try? remains.isNoted(vaultID)) == true {
            _ = try? remains.remove(vaultID, CallDeadline(SecretServiceClient.deadline))
        }
        report(WipeProgress(.memory))
        return CofferError(
            error.code,
            "The disk is read-only: the vault is still there. Its keys were dropped from memory and from "
                + "keyrings; wipe again when the disk can be written.", systemError: error.systemError)
    }

    /// Overwrites what opens everything else, in place, flushes, and only then removes it. From here all is
    /// noise.
    func destroyKeys(in vault: borrowing Descriptor) throws(CofferError) -> Int {
        var count = 0
        for name in Self.keyFiles where try vault.status(of: name)?.kind == .regular {
            try vault.overwrite(name, flushing: false)
            count += 1
        }
        // The blocks stay where they are, so that the bytes alone are flushed, and no journal is waited for.
        for name in Self.keyFiles where try vault.status(of: name)?.kind == .regular {
            try vault.open(name, .readWrite).syncData()
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
        let names = try vault.names()
        for (number, name) in names.enumerated() {
            switch name {
            case Home.filesName: removed["files"] = try removeFiles(in: vault)
            case TokenFile.fileName: removed["tokenFiles", default: 0] += 1
            default: removed["others", default: 0] += 1
            }
            try vault.removeTree(name)
            report(WipeProgress(.data, number + 1, of: names.count))
        }
        try vault.sync()
    }

    /// The containers, of which there may be many.
    private func removeFiles(in vault: borrowing Descriptor) throws(CofferError) -> Int? {
        guard try vault.status(of: Home.filesName)?.kind == .directory else { return nil }
        let files = try vault.open(Home.filesName, [.read, .directory])
        let names = try files.names()
        for (number, name) in names.enumerated() {
            try files.removeTree(name)
            if number % Self.filesPerReport == 0 { report(WipeProgress(.data, number, of: names.count)) }
        }
        return names.count
    }

    private static let filesPerReport = 64

    private func removeUnfinishedHomes() throws(CofferError) {
        for name in try home.directory.names() where name.string.utf8.hasPrefix(Home.buildPrefix) {
            try home.directory.removeTree(name)
        }
    }

    /// Kept beside the tombstone for whoever asks later; a full disk does not stop the wipe.
    func keep(_ receipt: WipeReceipt) {
        guard let bytes = try? receipt.json else { return }
        try? home.directory.removeTemporaries()
        try? home.directory.replace(Self.receiptName, with: bytes.span)
    }

    static let unproved = [
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
