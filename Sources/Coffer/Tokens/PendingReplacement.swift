public import CofferBase
import CofferEngine

/// A value that came while its class was locked, would replace a stored one, and cannot prove that it may.
public struct PendingReplacement: Sendable, Equatable {
    /// Its number in the order of storing.
    public let number: UInt64
    /// The value's own description; its version is 0. Nobody vouches for any of it.
    public let info: TokenInfo
}

extension TokenVault {
    /// The values that wait for somebody to accept or reject them, in the order in which they came. Until
    /// then the stored ones are those that everybody gets.
    ///
    /// - Throws: `locked` when any of them cannot be read now; `wiped`, `busy`.
    public func pending() async throws(CofferError) -> [PendingReplacement] {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            try core.storeWaitingTokens()
            guard try core.inbox.entries().contains(where: { $0.state == .unconfirmed }) else { return [] }
            return try core.home.changingVault { (vault) throws(CofferError) in
                var found: [PendingReplacement] = []
                for entry in try core.inbox.entries() where entry.state == .unconfirmed {
                    guard let opened = try opened(entry, in: vault) else { continue }
                    found.append(PendingReplacement(number: entry.number, info: opened.info))
                }
                return found
            }
        }
    }

    /// Puts a value that waits in the place of the stored one.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - number: Which of several, as ``pending()`` numbers them.
    /// - Returns: The new version; `nil` when no such value waits.
    /// - Throws: `ambiguous` when several wait and no number says which; `locked`, `wiped`, `busy`,
    ///   `noSpace`.
    public func accept(_ id: TokenID, number: UInt64? = nil) async throws(CofferError) -> UInt64? {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.changingVault { (vault) throws(CofferError) in
                try core.storeWaitingTokens(in: vault)
                let entries = try unconfirmed(name, number, in: vault)
                guard entries.count <= 1 else {
                    throw CofferError(
                        .ambiguous, "\(entries.count) values wait under this name: say which by its number.",
                        entries: entries.map { String($0.number) })
                }
                guard let entry = entries.first, let opened = try opened(entry, in: vault) else {
                    // What nobody has sorted yet may be what is meant.
                    guard try core.entries(.waiting, of: name, in: vault).isEmpty else {
                        throw CofferError.locked
                    }
                    return nil
                }
                let version = try store(accepted: opened, name: name)
                try core.inbox.remove([entry], in: vault)
                return version
            }
        }
    }

    /// Removes values that wait under a name; the stored one stays. Works while locked.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - number: Which of several; `nil` for all.
    /// - Returns: How many were removed.
    /// - Throws: `wiped`, `busy`.
    @discardableResult
    public func reject(_ id: TokenID, number: UInt64? = nil) async throws(CofferError) -> Int {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.changingVault { (vault) throws(CofferError) in
                let entries = try unconfirmed(name, number, in: vault)
                try core.inbox.remove(entries, in: vault)
                return entries.count
            }
        }
    }

    private func unconfirmed(
        _ name: [UInt8], _ number: UInt64?, in vault: borrowing Descriptor
    ) throws(CofferError) -> [TokenInbox.Entry] {
        try core.entries(.unconfirmed, of: name, in: vault).filter { number == nil || $0.number == number }
    }

    /// An entry out of its box; `nil` when it is damaged, which its name then says.
    private func opened(
        _ entry: TokenInbox.Entry, in vault: borrowing Descriptor
    ) throws(CofferError) -> OpenedToken? {
        guard let pending = try core.inbox.read(entry, in: vault) else { return nil }
        do throws(CofferError) {
            return try pending.open(under: core.keys.key(pending.protection), device: core.device)
        } catch {
            guard error.code == .corrupt else { throw error }
            try core.inbox.mark(entry, .damaged, in: vault)
            return nil
        }
    }

    /// Stores an accepted value under the home's lock. One that is damaged has no version to count from.
    private func store(accepted opened: OpenedToken, name: [UInt8]) throws(CofferError) -> UInt64 {
        let protection = opened.info.protection
        var version: UInt64 = 0
        do throws(CofferError) {
            if let old = try located(name) {
                version = try open(old, name: name, withValue: false).info.version
            }
        } catch {
            guard error.code == .corrupt else { throw error }
        }
        let info = opened.info.numbered(version + 1, isStoredWhileLocked: false)
        let envelope = try TokenEnvelope.seal(
            opened.token, info: info, name: name, key: opened.tokenKey,
            under: core.keyForStoring(protection), vaultID: core.device.vaultID)
        try keyring.put(envelope.encoded, for: name)
        try core.volatileTokens.remove(name)
        return info.version
    }
}
