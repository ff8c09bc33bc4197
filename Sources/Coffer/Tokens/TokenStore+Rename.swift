public import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials

extension TokenStore {
    /// Renames a token without replacing any other, in one step: no other change to the vault's tokens can
    /// come in between.
    ///
    /// The value, class, expiry date, scopes, attributes and marks stay the same, and an ephemeral token
    /// stays ephemeral. Version numbers start again. The token is stored under the new name before it is
    /// removed under the old one: after a crash or an error, it has the old name or both, never neither.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - newID: The new name.
    /// - Returns: The version under the new name.
    /// - Throws: `absent` if there is no token with the old name; `alreadyExists` if there is one with the
    ///   new name; `conflict` if values under either name are waiting to be accepted or rejected: see
    ///   ``pending()``; `invalidInput` if the names are equal; `refused` for a service that is reserved for
    ///   the library; `locked` if the token's class is locked or values under either name are pending until
    ///   an unlock; `wiped`, `busy`, `noSpace`, `corrupt`.
    @discardableResult
    public func rename(_ id: TokenID, to newID: TokenID) async throws(CofferError) -> UInt64 {
        guard id != newID else {
            throw CofferError(.invalidInput, "The new name must differ from the old one.")
        }
        try ReservedServices.check(id)
        try ReservedServices.check(newID)
        return try await BlockingExecutor.run { [self] _ throws(CofferError) -> UInt64 in
            let old = try name(of: id)
            let version = try core.home.withExclusiveVault { (vault) throws(CofferError) -> UInt64? in
                try core.drainPendingTokens(in: vault)
                return try move(old, to: newID, in: vault)
            }
            // Within the call above, `absent` would mean that a file of the vault is missing.
            guard let version else {
                throw CofferError(.absent, "There is no token with the old name: list the tokens.")
            }
            return version
        }
    }

    /// Renames a token under the vault directory's lock. Returns its version under the new name; `nil` if
    /// there is no token with the old name.
    private func move(
        _ old: [UInt8], to newID: TokenID, in vault: borrowing Descriptor
    ) throws(CofferError) -> UInt64? {
        try throwIfWaiting(old, "old", in: vault)
        guard let found = try findEnvelope(old) else { return nil }
        let (info, value) = try open(found, name: old, withValue: true)
        guard let value else { return nil }
        let new = try name(of: newID)
        try throwIfTaken(new)
        try throwIfWaiting(new, "new", in: vault)
        let version: UInt64 = 1
        let renamed = TokenInfo(
            id: newID, version: version, protection: info.protection,
            stored: Date(nanosecondsSince1970: core.clock.wallClock().nanoseconds), expires: info.expires,
            scopes: info.scopes, attributes: info.attributes, isStoredWhileLocked: info.isStoredWhileLocked)
        let envelope = try TokenEnvelope.seal(
            value, info: renamed, name: new, under: core.keyForStoring(info.protection),
            vaultID: core.device.vaultID)
        let target: any ItemStorage = found.isEphemeral ? core.ephemeralTokens : storage
        let other: any ItemStorage = found.isEphemeral ? storage : core.ephemeralTokens
        try target.put(envelope.encoded, for: new)
        noteTicket(of: envelope, new)
        // An older value in the other storage, left by a crash, must not become the value of the old name.
        if try other.envelope(old) != nil { try other.remove(old) }
        try target.remove(old)
        return version
    }

    /// Throws if a token has this name, readable or not.
    private func throwIfTaken(_ name: [UInt8]) throws(CofferError) {
        guard let found = try findEnvelope(name) else { return }
        // Another process can put an envelope of a locked class into the kernel keyring.
        guard !found.isEphemeral || isOpen(found) else { throw CofferError.locked }
        throw CofferError(
            .alreadyExists,
            "A token with the new name already exists, so nothing was changed: remove that token first.")
    }

    /// Throws if values that were stored while locked are pending under this name: an unlock, or accepting
    /// them, would store them beside the renamed token or over it.
    private func throwIfWaiting(
        _ name: [UInt8], _ which: String, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try core.entries(.pending, of: name, in: vault).isEmpty else { throw CofferError.locked }
        guard try core.entries(.unconfirmed, of: name, in: vault).isEmpty else {
            throw CofferError(
                .conflict,
                "Values that were stored while locked are waiting under the \(which) name, so nothing was "
                    + "changed: accept or reject them first.")
        }
    }
}
