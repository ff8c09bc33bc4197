public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// The numbers of tokens that were stored while locked and are pending, by state.
public struct PendingTokenCount: Sendable, Equatable {
    /// The number of tokens that the next unlock will examine.
    public let pending: Int
    /// The number of tokens that would replace a stored value but lack proof that they continue it.
    /// ``TokenStore/pending()`` returns these tokens.
    public internal(set) var unconfirmed = 0
    /// The number of tokens that are damaged and can no longer be read.
    public let corrupt: Int
}

extension TokenStore {
    /// Counts the tokens that were stored while locked and are pending. You can call this method while the
    /// vault is locked.
    ///
    /// - Throws: `wiped`, or the underlying error if the queue cannot be read.
    public func pendingTokens() async throws(CofferError) -> PendingTokenCount {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            _ = try core.home.openVault()
            let entries = try core.pendingTokens.entries()
            return PendingTokenCount(
                pending: entries.count { $0.state == .pending },
                unconfirmed: entries.count { $0.state == .unconfirmed },
                corrupt: try core.pendingTokens.damaged(among: entries))
        }
    }

    /// Removes damaged pending tokens. If something other than a directory occupies the queue's path, removes
    /// that instead.
    ///
    /// - Returns: The number of items that were removed.
    /// - Throws: `busy` if another process holds the vault's lock for too long; `wiped`.
    @discardableResult
    public func removeCorruptPendingTokens() async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                if try core.pendingTokens.isMisplaced() {
                    try vault.removeTree(PendingTokenQueue.directoryName)
                    return 1
                }
                // Reading finds damaged entries that have not been examined yet.
                for entry in try core.pendingTokens.entries() where entry.state != .damaged {
                    _ = try core.pendingTokens.read(entry, in: vault)
                }
                let damaged = try core.pendingTokens.entries().filter { $0.state == .damaged }
                try core.pendingTokens.remove(damaged, in: vault)
                return damaged.count
            }
        }
    }
}

extension VaultCore {
    var pendingTokens: PendingTokenQueue { PendingTokenQueue(home: home, device: device) }

    /// Stores the pending tokens whose class keys are available. Code that reads or changes tokens calls this
    /// function first, so an older value never replaces a newer one.
    func drainPendingTokens() throws(CofferError) {
        try refreshKeys()
        guard try !storableEntries().isEmpty else { return }
        try home.withExclusiveVault { (vault) throws(CofferError) in try drainPendingTokens(in: vault) }
    }

    /// Takes back pending tokens that were marked as damaged although a present key opens them: an older copy
    /// of the keybag was in the vault directory, whose keys do not.
    func takeBackPendingTokens() throws(CofferError) {
        guard try pendingTokens.entries().contains(where: { $0.state == .damaged }) else { return }
        try home.withExclusiveVault { (vault) throws(CofferError) in
            for entry in try pendingTokens.entries() where entry.state == .damaged {
                guard let pending = pendingTokens.damagedToken(entry, in: vault),
                    let key = keys.present(pending.protection),
                    (try? pending.open(under: key, device: device)) != nil
                else { continue }
                try pendingTokens.mark(entry, .pending, in: vault)
            }
        }
    }

    private func storableEntries() throws(CofferError) -> [PendingTokenQueue.Entry] {
        let entries = try pendingTokens.entries()
        guard !entries.isEmpty else { return [] }
        let keys = keys.all
        return entries.filter { entry in
            entry.state == .pending
                && ProtectionClass(rawValue: entry.rawClass).map { keys[$0] != nil } == true
        }
    }

    /// Stores the pending tokens like ``drainPendingTokens()``. The caller must hold the vault directory's
    /// lock.
    func drainPendingTokens(in vault: borrowing Descriptor) throws(CofferError) {
        // A value that is sealed to a key's successor must not be taken for a damaged one.
        try refreshKeys()
        guard try !storableEntries().isEmpty else { return }
        var fold = TokenFold(self)
        for entry in try pendingTokens.entries() where entry.state == .pending {
            try fold.merge(entry, in: vault)
        }
        try fold.finish(in: vault)
    }

    /// Returns the entries for a name that are in the given state. The caller must hold the vault directory's
    /// lock.
    func entries(
        _ state: PendingTokenQueue.State, of name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> [PendingTokenQueue.Entry] {
        var found: [PendingTokenQueue.Entry] = []
        for entry in try pendingTokens.entries() where entry.state == state {
            if try pendingTokens.read(entry, in: vault)?.name == name { found.append(entry) }
        }
        return found
    }

    /// Throws `locked` if a value is pending under a name that has no stored value: the token is not absent,
    /// but it cannot be read until an unlock.
    func throwIfPending(_ name: [UInt8]) throws(CofferError) {
        guard try !pendingTokens.entries().isEmpty else { return }
        let waits = try home.withExclusiveVault { (vault) throws(CofferError) in
            try !entries(.pending, of: name, in: vault).isEmpty
        }
        if waits { throw CofferError.locked }
    }

    /// Seals a token to its class's public key and adds it to the queue, under the vault directory's lock.
    /// Includes proof if this vault object has read or written the value that the token replaces.
    func enqueue(
        _ token: Token, _ info: TokenInfo, name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) {
        // A token queued during a token wipe would be erased with the others, so fail here instead.
        _ = try activeStorage.backend()
        let keybag = try Self.readKeybag(device: device, in: vault)
        guard let publicKey = keybag.publicKeys[info.protection] else {
            guard info.protection.requiresPasscode, keybag.isComplete else { throw CofferError.locked }
            throw CofferError.requiresPasscode
        }
        let destination = PendingToken.Destination(
            name: name, publicKey: publicKey, vaultID: device.vaultID, ticket: tickets[name])
        let tokenKey = try SecretBytes.random(count: 32)
        let ticket = try tokenKey.exposing { (bytes) throws(CofferError) in
            try ReplacementTicket(of: SymmetricKey.copying(bytes), name: name)
        }
        let added = try pendingTokens.add(in: vault) { (number) throws(CofferError) in
            try PendingToken.seal(token, info: info, tokenKey: tokenKey, number: number, to: destination)
        }
        tickets.keep(ticket, for: name)
        ownPending[name] = OwnPendingTokens.Value(info: info, token: token, file: added)
    }

    /// Returns the value that this vault object stored while locked, if it is still pending.
    func ownPendingValue(_ name: [UInt8]) throws(CofferError) -> OwnPendingTokens.Value? {
        guard let value = ownPending[name] else { return nil }
        guard try pendingTokens.isPending(value.file) else {
            ownPending[name] = nil
            return nil
        }
        return value
    }
}
