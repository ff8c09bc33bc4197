package import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials

extension TokenStore {
    /// Stores tokens of a backup, all in one step in the embedded keyring. Blocks.
    ///
    /// - Parameters:
    ///   - tokens: The tokens, with the classes, dates, scopes and attributes that they had.
    ///   - rule: The rule for tokens that differ from those in the vault.
    ///   - isTrial: Whether to change nothing, and only to return what would become of the tokens.
    /// - Returns: What became of each token, in their order.
    /// - Throws: `locked` unless all classes concerned are unlocked, or while tokens are pending;
    ///   `policyInvalid`, `busy`, `wiped`, `noSpace`, `readOnly`. After an error, nothing has changed, except
    ///   that the Secret Service may have stored some of the tokens.
    package func restore(
        _ tokens: [StoredToken], _ rule: ConflictRule, isTrial: Bool
    ) throws(CofferError) -> [RestoreOutcome] {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try core.drainPendingTokens(in: vault)
            // An older pending value would later replace the restored one.
            guard try !core.pendingTokens.entries().contains(where: { $0.state == .pending }) else {
                throw CofferError.locked
            }
            var changes: [[UInt8]: StorageChange] = [:]
            var outcomes: [RestoreOutcome] = []
            for token in tokens {
                outcomes.append(try restore(token, rule, &changes))
            }
            if !isTrial { try apply(changes) }
            return outcomes
        }
    }

    /// Puts sealed tokens of a backup of this vault back. Blocks.
    ///
    /// - Parameters:
    ///   - tokens: The tokens.
    ///   - rule: The rule for tokens that differ from those in the vault; ``ConflictRule/both`` keeps them.
    ///   - isTrial: Whether to change nothing.
    /// - Returns: What became of each token, in their order.
    /// - Throws: The errors of ``restore(_:_:isTrial:)-([StoredToken],_,_)``.
    package func restore(
        _ tokens: [SealedToken], _ rule: ConflictRule, isTrial: Bool
    ) throws(CofferError) -> [RestoreOutcome] {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try core.drainPendingTokens(in: vault)
            var changes: [[UInt8]: StorageChange] = [:]
            var outcomes: [RestoreOutcome] = []
            for token in tokens {
                outcomes.append(try restore(token, rule, &changes))
            }
            if !isTrial { try apply(changes) }
            return outcomes
        }
    }

    /// Opens a sealed token of a backup; returns `nil` if the vault's present keys do not. Blocks.
    ///
    /// - Throws: `locked` if the token's class is locked; `wiped`.
    package func openRestored(_ sealed: SealedToken) throws(CofferError) -> StoredToken? {
        let found = StoredEnvelope(bytes: sealed.envelope, isEphemeral: false)
        guard let opened = try readable(found, sealed.name, isStored: false),
            try name(of: opened.info.id) == sealed.name
        else { return nil }
        return opened
    }

    /// Stores a database's key of a backup. Blocks.
    ///
    /// - Throws: `conflict` if the stored key does not meet `precondition`; `locked`, `refused`, `noSpace`.
    package func putDatabaseKey(
        _ key: Token, for id: TokenID, class protection: ProtectionClass, attributes: [String: String],
        precondition: Precondition
    ) throws(CofferError) {
        _ = try putNow(
            key, for: id, class: protection, attributes: attributes, precondition: precondition)
    }

    private func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        guard !changes.isEmpty else { return }
        try storage.apply(changes)
        try core.ephemeralTokens.apply(changes.mapValues { _ in .remove })
    }

    private func restore(
        _ new: StoredToken, _ rule: ConflictRule, _ changes: inout [[UInt8]: StorageChange]
    ) throws(CofferError) -> RestoreOutcome {
        var info = new.info
        guard !info.isReserved else { return .impossible(.reserved) }
        guard (try? info.checkLimits()) != nil else { return .impossible(.damaged) }
        let key: ClassKey
        do throws(CofferError) {
            key = try core.keyForStoring(info.protection)
        } catch {
            guard error.code == .refused else { throw error }
            return .impossible(.needsPasscode)
        }
        var name = try name(of: info.id)
        var outcome = RestoreOutcome.added
        var version: UInt64 = 0
        if let found = try findEnvelope(name) {
            let old = try readable(found, name)
            if let old, old.token.secret.isEqual(to: new.token.secret), !old.info.isEphemeral,
                try core.describesTheSame(old.info, as: info)
            {
                return .equal
            }
            switch (rule, old) {
            case (.keep, _), (_, nil): return .kept
            case (.replace, let old?):
                version = old.info.number
                outcome = .replaced
            case (.both, _):
                guard let other = try otherName(info.id) else { return .kept }
                info = info.named(other)
                name = try self.name(of: other)
                if let there = try findEnvelope(name) {
                    guard let same = try readable(there, name),
                        same.token.secret.isEqual(to: new.token.secret),
                        try core.describesTheSame(same.info, as: info)
                    else { return .kept }
                    return .equal
                }
            }
        }
        // Two tokens of one backup have two names.
        guard changes[name] == nil else { return .impossible(.damaged) }
        let stored = TokenInfo(
            id: info.id, version: version + 1, protection: info.protection, stored: info.stored,
            expires: try core.expiry(info.expires), scopes: info.scopes, attributes: info.attributes)
        let envelope = try TokenEnvelope.seal(
            new.token, info: stored, name: name, under: key, vaultID: core.device.vaultID)
        changes[name] = .put(envelope.encoded)
        return outcome
    }

    private func restore(
        _ new: SealedToken, _ rule: ConflictRule, _ changes: inout [[UInt8]: StorageChange]
    ) throws(CofferError) -> RestoreOutcome {
        guard let opened = try openRestored(new) else { return .impossible(.otherDevice) }
        // A session of a backup can have spent its refresh token since: its server would refuse the token.
        guard !ReservedServices.isOfSessions(opened.info.id.service) else { return .impossible(.reserved) }
        if let found = try findEnvelope(new.name) {
            guard let old = try readable(found, new.name) else { return .kept }
            if old.token.secret.isEqual(to: opened.token.secret), !old.info.isEphemeral,
                try core.describesTheSame(old.info, as: opened.info)
            {
                return .equal
            }
            guard rule == .replace else { return .kept }
            changes[new.name] = .put(try envelope(of: new, opened))
            return .replaced
        }
        changes[new.name] = .put(try envelope(of: new, opened))
        return .added
    }

    /// Returns the envelope of a sealed token, sealed again if the policy ends the token's life earlier.
    private func envelope(of sealed: SealedToken, _ opened: StoredToken) throws(CofferError) -> [UInt8] {
        let info = opened.info
        let expires = try core.expiry(info.expires)
        guard expires != info.expires, !info.isReserved else { return sealed.envelope }
        let stored = TokenInfo(
            id: info.id, version: info.version, protection: info.protection, stored: info.stored,
            expires: expires, scopes: info.scopes, attributes: info.attributes)
        return try TokenEnvelope.seal(
            opened.token, info: stored, name: sealed.name, under: core.keyForStoring(info.protection),
            vaultID: core.device.vaultID
        ).encoded
    }

    /// Opens an envelope; returns `nil` if it is damaged or, for one that is not stored, sealed under other
    /// keys.
    private func readable(
        _ envelope: StoredEnvelope, _ name: [UInt8], isStored: Bool = true
    ) throws(CofferError) -> StoredToken? {
        do throws(CofferError) {
            let (info, token) =
                isStored
                ? try open(envelope, name: name, withValue: true)
                : try openOnce(envelope, name: name, withValue: true)
            return token.map { StoredToken(token: $0, info: info) }
        } catch {
            switch error.code {
            case .corrupt, .unsupportedVersion: return nil
            case .refused where !isStored: return nil
            default: throw error
            }
        }
    }

    /// Returns the name that a token gets beside one of the same name; `nil` if it would be too long.
    private func otherName(_ id: TokenID) throws(CofferError) -> TokenID? {
        try? TokenID(service: id.service, account: id.account + " (restored)", kind: id.kind)
    }
}

extension TokenInfo {
    /// Returns the same description under another name.
    fileprivate func named(_ id: TokenID) -> TokenInfo {
        TokenInfo(
            id: id, version: version, protection: protection, stored: stored, expires: expires,
            scopes: scopes, attributes: attributes)
    }
}
