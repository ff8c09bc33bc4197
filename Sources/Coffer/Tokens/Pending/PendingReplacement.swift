public import CofferBase
import CofferEngine

/// A value that was stored while its class was locked and would replace a stored value, but lacks proof that
/// it continues that value.
public struct PendingReplacement: Sendable, Equatable {
    /// The value's identifier: 16 hexadecimal digits from an authentication tag over the whole value. Finding
    /// another value with the same fingerprint takes about 2^64 attempts, so the value that a person reviewed
    /// is the one that is accepted, even if other values have arrived in the meantime.
    public let fingerprint: String
    /// The value's description as its sender wrote it, without a version. The description is not
    /// authenticated.
    public let info: TokenInfo
}

extension TokenStore {
    /// Returns the values that are waiting to be accepted or rejected, in order of arrival. In the meantime,
    /// readers still receive the stored values.
    ///
    /// - Throws: `locked` if any of these values cannot be read now; `busy` if another process holds the
    ///   vault's lock for too long; `wiped`.
    public func pending() async throws(CofferError) -> [PendingReplacement] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.drainPendingTokens()
            guard try core.pendingTokens.entries().contains(where: { $0.state == .unconfirmed }) else {
                return []
            }
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                var found: [PendingReplacement] = []
                for entry in try core.pendingTokens.entries() where entry.state == .unconfirmed {
                    guard let pending = try core.pendingTokens.read(entry, in: vault),
                        let opened = try opened(pending, entry, in: vault)
                    else { continue }
                    let fingerprint = try pending.fingerprint(device: core.device)
                    let info = opened.info.numbered(nil, isStoredWhileLocked: true)
                    found.append(PendingReplacement(fingerprint: fingerprint, info: info))
                }
                return found
            }
        }
    }

    /// Replaces the stored value with a pending one.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - fingerprint: The value's fingerprint, from ``pending()``; `nil` for the only pending value, which
    ///     may no longer be the one that ``pending()`` returned.
    /// - Returns: The new version; `nil` if no such value is pending.
    /// - Throws: `ambiguous`, with the fingerprints, if several values are pending and `fingerprint` is
    ///   `nil`; `busy` if another process holds the vault's lock for too long; `locked`, `wiped` or
    ///   `noSpace`.
    public func accept(_ id: TokenID, fingerprint: String? = nil) async throws(CofferError) -> UInt64? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                let found = try unconfirmed(name, fingerprint, in: vault)
                guard found.count <= 1 else {
                    throw CofferError(
                        .ambiguous,
                        "\(found.count) values are pending under this name. Choose one of the values by its "
                            + "fingerprint.",
                        entries: try found.map { (one) throws(CofferError) in
                            try one.pending.fingerprint(device: core.device)
                        })
                }
                guard let one = found.first, let opened = try opened(one.pending, one.entry, in: vault) else {
                    try throwIfUnsorted(name, in: vault)
                    return nil
                }
                let version = try store(accepted: opened, name: name)
                try core.pendingTokens.remove([one.entry], in: vault)
                return version
            }
        }
    }

    /// Rejects pending values: removes them and keeps the stored value. You can call this method while the
    /// vault is locked if an unlock has already found that the values must be accepted or rejected.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - fingerprint: The value's fingerprint, from ``pending()``; `nil` for all values under this name.
    /// - Returns: The number of values that were removed.
    /// - Throws: `locked` if there is nothing to remove, but values under this name are waiting for an unlock
    ///   to examine them; `busy` if another process holds the vault's lock for too long; `wiped`.
    @discardableResult
    public func reject(_ id: TokenID, fingerprint: String? = nil) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                let entries = try unconfirmed(name, fingerprint, in: vault).map(\.entry)
                if entries.isEmpty { try throwIfUnsorted(name, in: vault) }
                try core.pendingTokens.remove(entries, in: vault)
                return entries.count
            }
        }
    }

    /// Returns the fingerprint of the value that this vault object stored while locked, if it is still
    /// pending.
    package func ownPendingFingerprint(for id: TokenID) async throws(CofferError) -> String? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.ownPendingValue(name(of: id))?.file.fingerprint
        }
    }

    /// Throws `locked` if values under this name are waiting for an unlock to examine them, because the
    /// caller may mean one of those values.
    private func throwIfUnsorted(_ name: [UInt8], in vault: borrowing Descriptor) throws(CofferError) {
        guard try core.entries(.pending, of: name, in: vault).isEmpty else { throw CofferError.locked }
    }

    private func unconfirmed(
        _ name: [UInt8], _ fingerprint: String?, in vault: borrowing Descriptor
    ) throws(CofferError) -> [(entry: PendingTokenQueue.Entry, pending: PendingToken)] {
        var found: [(entry: PendingTokenQueue.Entry, pending: PendingToken)] = []
        for entry in try core.pendingTokens.entries() where entry.state == .unconfirmed {
            guard let pending = try core.pendingTokens.read(entry, in: vault), pending.name == name else {
                continue
            }
            if let fingerprint, try !pending.fingerprint(device: core.device).hasSameBytes(as: fingerprint) {
                continue
            }
            found.append((entry, pending))
        }
        return found
    }

    /// Opens an entry; if it is damaged, marks it as damaged and returns `nil`.
    private func opened(
        _ pending: PendingToken, _ entry: PendingTokenQueue.Entry, in vault: borrowing Descriptor
    ) throws(CofferError) -> OpenedToken? {
        do throws(CofferError) {
            return try pending.open(under: core.keys.key(pending.protection), device: core.device)
        } catch {
            guard error.code == .corrupt else { throw error }
            try core.pendingTokens.mark(entry, .damaged, in: vault)
            return nil
        }
    }

    /// Stores an accepted value under the vault directory's lock. A damaged stored value counts as version 0.
    private func store(accepted opened: OpenedToken, name: [UInt8]) throws(CofferError) -> UInt64 {
        let protection = opened.info.protection
        var version: UInt64 = 0
        do throws(CofferError) {
            if let old = try findEnvelope(name, orLocked: false) {
                version = try open(old, name: name, withValue: false).info.number
            }
        } catch {
            guard error.code == .corrupt else { throw error }
        }
        let info = opened.info.numbered(version + 1, isStoredWhileLocked: false)
        let envelope = try TokenEnvelope.seal(
            opened.token, info: info, name: name, key: opened.tokenKey,
            under: core.keyForStoring(protection), vaultID: core.device.vaultID)
        try storage.put(envelope.encoded, for: name)
        try core.ephemeralTokens.remove(name)
        return info.number
    }
}
