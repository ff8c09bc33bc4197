public import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
import SystemPackage

/// How many tokens were stored while locked and wait for an unlock.
public struct WaitingTokens: Sendable, Equatable {
    /// Those that the next unlock stores.
    public let waiting: Int
    /// Those that are damaged: none of them can be read any more.
    public let damaged: Int
}

extension TokenVault {
    /// What was stored while locked and waits for an unlock; known also while locked.
    ///
    /// - Throws: `wiped`, or what hinders looking.
    public func waitingTokens() async throws(CofferError) -> WaitingTokens {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            _ = try core.home.openVault()
            let entries = try core.inbox.entries()
            let damaged = entries.count { $0.isDamaged }
            return WaitingTokens(waiting: entries.count - damaged, damaged: damaged)
        }
    }

    /// Removes waiting tokens that are damaged; gives how many.
    ///
    /// - Throws: `wiped`, `busy`.
    @discardableResult
    public func discardDamagedTokens() async throws(CofferError) -> Int {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            try core.home.changingVault { (vault) throws(CofferError) in
                let damaged = try core.inbox.entries().filter(\.isDamaged)
                try core.inbox.remove(damaged, in: vault)
                return damaged.count
            }
        }
    }
}

extension SessionCore {
    var inbox: TokenInbox { TokenInbox(home: home, device: device) }

    /// Stores what came while locked, as far as the keys are here. Whoever reads or changes tokens does this
    /// first, so that nothing older comes after something newer.
    func storeWaitingTokens() throws(CofferError) {
        guard try !storableEntries().isEmpty else { return }
        try home.changingVault { (vault) throws(CofferError) in try storeWaitingTokens(in: vault) }
    }

    private func storableEntries() throws(CofferError) -> [TokenInbox.Entry] {
        let entries = try inbox.entries()
        guard !entries.isEmpty else { return [] }
        let keys = keys.all
        return entries.filter { entry in
            !entry.isDamaged && ProtectionClass(rawValue: entry.rawClass).map { keys[$0] != nil } == true
        }
    }

    /// As ``storeWaitingTokens()``, under the home's lock.
    func storeWaitingTokens(in vault: borrowing Descriptor) throws(CofferError) {
        guard try !storableEntries().isEmpty else { return }
        let keys = keys.all
        var changes: [[UInt8]: KeyringChange] = [:]
        var versions: [[UInt8]: UInt64] = [:]
        /// Names with something older that has to wait: what is newer waits with it.
        var held: Set<[UInt8]> = []
        var stored: [TokenInbox.Entry] = []
        for entry in try inbox.entries() where !entry.isDamaged {
            guard let pending = try inbox.read(entry, in: vault) else { continue }
            let name = pending.name
            let known = versions[name]
            let version = if let known { UInt64?(known) } else { try version(of: name, keys) }
            guard !held.contains(name), let key = keys[pending.protection], let version else {
                held.insert(pending.name)
                continue
            }
            do throws(CofferError) {
                let (info, token) = try pending.open(under: key, vaultID: device.vaultID)
                let numbered = info.numbered(version + 1)
                let envelope = try TokenEnvelope.seal(
                    token, info: numbered, name: pending.name, under: key, vaultID: device.vaultID)
                changes[pending.name] = .put(envelope.encoded)
                versions[pending.name] = version + 1
                stored.append(entry)
            } catch {
                guard error.code == .corrupt else { throw error }
                try inbox.markDamaged(entry, in: vault)
            }
        }
        guard !stored.isEmpty else { return }
        try keyring.apply(changes)
        // A crash in between stores the same values once more: nobody stores before this is through.
        try inbox.remove(stored, in: vault)
    }

    /// The version now stored, 0 for none; `nil` when its class is locked.
    private func version(
        of name: [UInt8], _ keys: [ProtectionClass: ClassKey]
    ) throws(CofferError) -> UInt64? {
        guard let bytes = try keyring.envelope(name) else { return 0 }
        let envelope = try TokenEnvelope.decode(bytes)
        guard let key = keys[envelope.protection] else { return nil }
        return try envelope.open(
            name: name, under: key, vaultID: device.vaultID, withValue: false
        ).info.version
    }

    /// What waits under a name, under the home's lock.
    func waitingEntries(
        of name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> [TokenInbox.Entry] {
        var found: [TokenInbox.Entry] = []
        for entry in try inbox.entries() where !entry.isDamaged {
            if try inbox.read(entry, in: vault)?.name == name { found.append(entry) }
        }
        return found
    }

    /// Throws `locked` when something waits under a name of which nothing is stored: it is not absent.
    func refuseWaiting(_ name: [UInt8]) throws(CofferError) {
        guard try !inbox.entries().isEmpty else { return }
        let waits = try home.changingVault { (vault) throws(CofferError) in
            try !waitingEntries(of: name, in: vault).isEmpty
        }
        if waits { throw CofferError.locked }
    }

    /// Seals a token to its class's public key, under the home's lock.
    func letWait(
        _ token: Token, _ info: TokenInfo, name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) {
        // What would wait while tokens are being erased, would go with them.
        _ = try keyring.backend()
        let keybag = try Self.readKeybag(device: device, in: vault)
        guard let publicKey = keybag.publicKeys[info.protection] else {
            guard info.protection.needsPasscode, keybag.isComplete else { throw CofferError.locked }
            throw CofferError.needsPasscode
        }
        let vaultID = device.vaultID
        try inbox.add(in: vault) { (number) throws(CofferError) in
            try PendingToken.seal(
                token, info: info, name: name, number: number, to: publicKey, vaultID: vaultID)
        }
    }
}

extension TokenInfo {
    fileprivate func numbered(_ version: UInt64) -> TokenInfo {
        TokenInfo(
            id: id, version: version, protection: protection, stored: stored, expires: expires,
            scopes: scopes, attributes: attributes)
    }
}
