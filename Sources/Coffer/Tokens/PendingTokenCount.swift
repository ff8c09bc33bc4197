public import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
import SystemPackage

/// How many tokens were stored while locked and wait for an unlock.
public struct PendingTokenCount: Sendable, Equatable {
    /// Those that the next unlock looks at.
    public let waiting: Int
    /// Those that would replace a stored value and cannot prove that they may: see ``TokenStore/pending()``.
    public internal(set) var unconfirmed = 0
    /// Those that are damaged: none of them can be read any more.
    public let damaged: Int
}

extension TokenStore {
    /// What was stored while locked and waits for an unlock; known also while locked.
    ///
    /// - Throws: `wiped`, or what hinders looking.
    public func pendingTokens() async throws(CofferError) -> PendingTokenCount {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            _ = try core.home.openVault()
            let entries = try core.inbox.entries()
            return PendingTokenCount(
                waiting: entries.count { $0.state == .waiting },
                unconfirmed: entries.count { $0.state == .unconfirmed },
                damaged: try core.inbox.damaged(among: entries))
        }
    }

    /// Removes waiting tokens that are damaged, and what has their place without being one; gives how many.
    ///
    /// - Throws: `wiped`, `busy`.
    @discardableResult
    public func removeCorruptPendingTokens() async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                if try core.inbox.isMisplaced() {
                    try vault.removeTree(PendingTokenQueue.directoryName)
                    return 1
                }
                // Reading finds those that nobody has looked at yet.
                for entry in try core.inbox.entries() where entry.state != .damaged {
                    _ = try core.inbox.read(entry, in: vault)
                }
                let damaged = try core.inbox.entries().filter { $0.state == .damaged }
                try core.inbox.remove(damaged, in: vault)
                return damaged.count
            }
        }
    }
}

extension VaultCore {
    var inbox: PendingTokenQueue { PendingTokenQueue(home: home, device: device) }

    /// Stores what came while locked, as far as the keys are here. Whoever reads or changes tokens does this
    /// first, so that nothing older comes after something newer.
    func drainPendingTokens() throws(CofferError) {
        guard try !storableEntries().isEmpty else { return }
        try home.withExclusiveVault { (vault) throws(CofferError) in try drainPendingTokens(in: vault) }
    }

    private func storableEntries() throws(CofferError) -> [PendingTokenQueue.Entry] {
        let entries = try inbox.entries()
        guard !entries.isEmpty else { return [] }
        let keys = keys.all
        return entries.filter { entry in
            entry.state == .waiting
                && ProtectionClass(rawValue: entry.rawClass).map { keys[$0] != nil } == true
        }
    }

    /// As ``drainPendingTokens()``, under the home's lock.
    func drainPendingTokens(in vault: borrowing Descriptor) throws(CofferError) {
        guard try !storableEntries().isEmpty else { return }
        var fold = TokenFold(self)
        for entry in try inbox.entries() where entry.state == .waiting { try fold.take(entry, in: vault) }
        try fold.finish(in: vault)
    }

    /// Returns the values that wait under a name, or wait for somebody to accept them, under the home's lock.
    func entries(
        _ state: PendingTokenQueue.State, of name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> [PendingTokenQueue.Entry] {
        var found: [PendingTokenQueue.Entry] = []
        for entry in try inbox.entries() where entry.state == state {
            if try inbox.read(entry, in: vault)?.name == name { found.append(entry) }
        }
        return found
    }

    /// Throws `locked` when something waits under a name of which nothing is stored: it is not absent.
    func throwIfPending(_ name: [UInt8]) throws(CofferError) {
        guard try !inbox.entries().isEmpty else { return }
        let waits = try home.withExclusiveVault { (vault) throws(CofferError) in
            try !entries(.waiting, of: name, in: vault).isEmpty
        }
        if waits { throw CofferError.locked }
    }

    /// Seals a token to its class's public key, under the home's lock; with proof where this session had
    /// read or written what it replaces.
    func enqueue(
        _ token: Token, _ info: TokenInfo, name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) {
        // What would wait while tokens are being erased, would go with them.
        _ = try keyring.backend()
        let keybag = try Self.readKeybag(device: device, in: vault)
        guard let publicKey = keybag.publicKeys[info.protection] else {
            guard info.protection.requiresPasscode, keybag.isComplete else { throw CofferError.locked }
            throw CofferError.requiresPasscode
        }
        let place = PendingToken.Place(
            name: name, publicKey: publicKey, vaultID: device.vaultID, ticket: tickets[name])
        let tokenKey = try SecretBytes.random(count: 32)
        let ticket = try tokenKey.exposing { (bytes) throws(CofferError) in
            try ReplacementTicket(of: SymmetricKey.copying(bytes), name: name)
        }
        let added = try inbox.add(in: vault) { (number) throws(CofferError) in
            try PendingToken.seal(token, info: info, tokenKey: tokenKey, number: number, at: place)
        }
        tickets.keep(ticket, for: name)
        ownWaiting[name] = OwnPendingTokens.Value(info: info, token: token, file: added)
    }

    /// The value that this session stored while locked, as long as it waits.
    func ownWaitingValue(_ name: [UInt8]) throws(CofferError) -> OwnPendingTokens.Value? {
        guard let value = ownWaiting[name] else { return nil }
        guard try inbox.isWaiting(value.file) else {
            ownWaiting[name] = nil
            return nil
        }
        return value
    }
}
