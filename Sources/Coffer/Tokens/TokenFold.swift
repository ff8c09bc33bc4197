import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A merge of the pending tokens into the stored tokens, in order of arrival and under the vault directory's
/// lock.
///
/// A pending value is sealed to a public key, so it proves nothing about its sender. If the name has no
/// stored value, the pending value is stored and marked. It replaces a stored value only with proof that its
/// sender had read or written that value. A pending value without that proof is set aside until the caller
/// accepts or rejects it.
struct TokenFold {
    /// The state of the value stored under a name.
    private enum Current {
        case absent
        /// The class of the stored value is locked.
        case locked
        /// The stored value cannot be read, so no pending value can prove that it continues the stored one.
        case unreadable
        case stored(version: UInt64, ticket: ReplacementTicket, isStoredWhileLocked: Bool)
    }

    private let core: VaultCore
    private let keys: [ProtectionClass: ClassKey]
    private var changes: [[UInt8]: StorageChange] = [:]
    private var known: [[UInt8]: Current] = [:]
    /// The names with an older entry that has to wait. Newer entries for such a name have to wait, too.
    private var held: Set<[UInt8]> = []
    private var stored: [PendingTokenQueue.Entry] = []

    init(_ core: VaultCore) {
        self.core = core
        keys = core.keys.all
    }

    /// Merges one pending entry into the stored tokens, unless it has to wait.
    mutating func merge(
        _ entry: PendingTokenQueue.Entry, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard let pending = try core.pendingTokens.read(entry, in: vault) else { return }
        let name = pending.name
        guard !held.contains(name), let key = keys[pending.protection] else {
            held.insert(name)
            return
        }
        do throws(CofferError) {
            let opened = try pending.open(under: key, device: core.device)
            let current = try current(name)
            known[name] = current
            switch current {
            case .locked: held.insert(name)
            case .absent: try store(opened, over: 0, isStoredWhileLocked: true, name, key, entry)
            case .stored(let version, let ticket, let isMarked):
                guard try opened.isProved(by: ticket) else { fallthrough }
                try store(opened, over: version, isStoredWhileLocked: isMarked, name, key, entry)
            case .unreadable: try core.pendingTokens.mark(entry, .unconfirmed, in: vault)
            }
        } catch {
            guard error.code == .corrupt else { throw error }
            try core.pendingTokens.mark(entry, .damaged, in: vault)
        }
    }

    /// Writes the changes, then removes the merged entries. After a crash between these steps, the next run
    /// stores the same values again, because nothing else stores tokens before this function has finished.
    func finish(in vault: borrowing Descriptor) throws(CofferError) {
        guard !stored.isEmpty else { return }
        try core.storage.apply(changes)
        try core.pendingTokens.remove(stored, in: vault)
    }

    private mutating func store(
        _ opened: OpenedToken, over version: UInt64, isStoredWhileLocked: Bool, _ name: [UInt8],
        _ key: ClassKey, _ entry: PendingTokenQueue.Entry
    ) throws(CofferError) {
        let info = opened.info.numbered(version + 1, isStoredWhileLocked: isStoredWhileLocked)
        let envelope = try TokenEnvelope.seal(
            opened.token, info: info, name: name, key: opened.tokenKey, under: key,
            vaultID: core.device.vaultID)
        changes[name] = .put(envelope.encoded)
        known[name] = .stored(
            version: info.number, ticket: try ReplacementTicket(of: opened.tokenKey, name: name),
            isStoredWhileLocked: isStoredWhileLocked)
        stored.append(entry)
    }

    private func current(_ name: [UInt8]) throws(CofferError) -> Current {
        if let current = known[name] { return current }
        do throws(CofferError) {
            guard let bytes = try core.storage.envelope(name) else { return .absent }
            let envelope = try TokenEnvelope.decode(bytes)
            guard let key = keys[envelope.protection] else { return .locked }
            let vaultID = core.device.vaultID
            let info = try envelope.open(name: name, under: key, vaultID: vaultID, withValue: false).info
            return .stored(
                version: info.number, ticket: try envelope.ticket(name: name, under: key, vaultID: vaultID),
                isStoredWhileLocked: info.isStoredWhileLocked)
        } catch {
            guard [.corrupt, .unsupportedVersion, .ambiguous].contains(error.code) else { throw error }
            return .unreadable
        }
    }
}
