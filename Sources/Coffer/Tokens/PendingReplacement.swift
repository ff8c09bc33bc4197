public import CofferBase
import CofferEngine

/// A value that came while its class was locked, would replace a stored one, and cannot prove that it may.
public struct PendingReplacement: Sendable, Equatable {
    /// Which value it is: 16 hexadecimal digits of a tag over all of it. To make another value with the same
    /// takes some 2^64 attempts, so that what was seen is what is accepted, whatever came in meanwhile.
    public let fingerprint: String
    /// The value's own description; its version is 0. Nobody vouches for any of it.
    public let info: TokenInfo
}

extension TokenStore {
    /// The values that wait for somebody to accept or reject them, in the order in which they came. Until
    /// then the stored ones are those that everybody gets.
    ///
    /// - Throws: `locked` when any of them cannot be read now; `wiped`, `busy`.
    public func pending() async throws(CofferError) -> [PendingReplacement] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.drainPendingTokens()
            guard try core.inbox.entries().contains(where: { $0.state == .unconfirmed }) else { return [] }
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                var found: [PendingReplacement] = []
                for entry in try core.inbox.entries() where entry.state == .unconfirmed {
                    guard let pending = try core.inbox.read(entry, in: vault),
                        let opened = try opened(pending, entry, in: vault)
                    else { continue }
                    let fingerprint = try pending.fingerprint(device: core.device)
                    let info = opened.info.numbered(0, isStoredWhileLocked: true)
                    found.append(PendingReplacement(fingerprint: fingerprint, info: info))
                }
                return found
            }
        }
    }

    /// Puts a value that waits in the place of the stored one.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - fingerprint: Which value, as ``pending()`` has it. Without it, the only one that waits now:
    ///     that may be another than the one that was listed a moment ago.
    /// - Returns: The new version; `nil` when no such value waits.
    /// - Throws: `ambiguous` with the fingerprints when several wait and none is chosen; `locked`, `wiped`,
    ///   `busy`, `noSpace`.
    public func accept(_ id: TokenID, fingerprint: String? = nil) async throws(CofferError) -> UInt64? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                let found = try unconfirmed(name, fingerprint, in: vault)
                guard found.count <= 1 else {
                    throw CofferError(
                        .ambiguous,
                        "\(found.count) values wait under this name: say which by its fingerprint.",
                        entries: try found.map { (one) throws(CofferError) in
                            try one.pending.fingerprint(device: core.device)
                        })
                }
                guard let one = found.first, let opened = try opened(one.pending, one.entry, in: vault) else {
                    try throwIfUnsorted(name, in: vault)
                    return nil
                }
                let version = try store(accepted: opened, name: name)
                try core.inbox.remove([one.entry], in: vault)
                return version
            }
        }
    }

    /// Removes values that wait under a name; the stored one stays. Works while locked, once an unlock has
    /// found that they have to wait.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - fingerprint: Which of several, as ``pending()`` has it; `nil` for all.
    /// - Returns: How many were removed.
    /// - Throws: `locked` when there is none to remove and an unlock has yet to look at what came; `wiped`,
    ///   `busy`.
    @discardableResult
    public func reject(_ id: TokenID, fingerprint: String? = nil) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                let entries = try unconfirmed(name, fingerprint, in: vault).map(\.entry)
                if entries.isEmpty { try throwIfUnsorted(name, in: vault) }
                try core.inbox.remove(entries, in: vault)
                return entries.count
            }
        }
    }

    /// The fingerprint of the value that this session stored while locked, as long as it waits for an unlock.
    package func ownWaitingFingerprint(for id: TokenID) async throws(CofferError) -> String? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.ownWaitingValue(name(of: id))?.file.fingerprint
        }
    }

    /// Throws `locked` where values wait that no unlock has sorted: they may be what is meant.
    private func throwIfUnsorted(_ name: [UInt8], in vault: borrowing Descriptor) throws(CofferError) {
        guard try core.entries(.waiting, of: name, in: vault).isEmpty else { throw CofferError.locked }
    }

    private func unconfirmed(
        _ name: [UInt8], _ fingerprint: String?, in vault: borrowing Descriptor
    ) throws(CofferError) -> [(entry: PendingTokenQueue.Entry, pending: PendingToken)] {
        var found: [(entry: PendingTokenQueue.Entry, pending: PendingToken)] = []
        for entry in try core.inbox.entries() where entry.state == .unconfirmed {
            guard let pending = try core.inbox.read(entry, in: vault), pending.name == name else { continue }
            if let fingerprint, try !pending.fingerprint(device: core.device).hasSameBytes(as: fingerprint) {
                continue
            }
            found.append((entry, pending))
        }
        return found
    }

    /// An entry out of its box; `nil` when it is damaged, which its name then says.
    private func opened(
        _ pending: PendingToken, _ entry: PendingTokenQueue.Entry, in vault: borrowing Descriptor
    ) throws(CofferError) -> OpenedToken? {
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
            if let old = try findEnvelope(name, orLocked: false) {
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
        try core.ephemeralTokens.remove(name)
        return info.version
    }
}
