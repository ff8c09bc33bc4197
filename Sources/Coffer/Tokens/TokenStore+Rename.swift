public import CofferBase
import CofferEngine
import CofferVault
import FoundationEssentials

extension TokenStore {
    /// Renames a token without replacing any other token. No other change to the vault's tokens can occur in
    /// the meantime.
    ///
    /// The value, class, expiry date, scopes, attributes and marks stay the same, and an ephemeral token
    /// stays ephemeral. Version numbers start again at 1. The token is stored under the new name before it is
    /// removed under the old one, so after a crash or an error, it has either the old name or both names, but
    /// is never lost.
    ///
    /// - Parameters:
    ///   - id: The token's current name.
    ///   - newID: The new name.
    /// - Returns: The version under the new name.
    /// - Throws: `absent` if there is no token with the old name; `alreadyExists` if there is already a token
    ///   with the new name; `conflict` if values under either name must first be accepted or rejected
    ///   (``pending()`` returns them); `invalidInput` if the names are equal; `refused` if either service is
    ///   reserved for the library; `locked` if the token's class is locked or if values under either name are
    ///   pending until an unlock; `busy` if another process holds the vault's lock for too long; `wiped`,
    ///   `noSpace` or `corrupt`.
    @discardableResult
    public func rename(_ id: TokenID, to newID: TokenID) async throws(CofferError) -> UInt64 {
        guard id != newID else {
            throw CofferError(.invalidInput, "The new name of the token must differ from the old name.")
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
                throw CofferError(
                    .absent, "No token with the old name exists. List the tokens to find the right name.")
            }
            return version
        }
    }

    /// Renames a token under the vault directory's lock. Returns the token's version under the new name;
    /// `nil` if there is no token with the old name.
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
        noteTicket(of: envelope, new, isMarked: info.isStoredWhileLocked)
        // An older value in the other storage, left by a crash, must not become the value of the old name.
        if try other.envelope(old) != nil { try other.remove(old) }
        try target.remove(old)
        return version
    }

    /// Throws an error if a token, readable or not, has this name.
    private func throwIfTaken(_ name: [UInt8]) throws(CofferError) {
        guard let found = try findEnvelope(name) else { return }
        // Another process can put an envelope of a locked class into the kernel keyring.
        guard !found.isEphemeral || isOpen(found) else { throw CofferError.locked }
        throw CofferError(
            .alreadyExists,
            "The token could not be renamed because a token with the new name already exists. Remove that "
                + "token first.")
    }

    /// Throws an error if values that were stored while locked are pending under this name. Otherwise, an
    /// unlock or an acceptance could later store such a value beside the renamed token or in its place.
    private func throwIfWaiting(
        _ name: [UInt8], _ which: String, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try core.entries(.pending, of: name, in: vault).isEmpty else { throw CofferError.locked }
        guard try core.entries(.unconfirmed, of: name, in: vault).isEmpty else {
            throw CofferError(
                .conflict,
                "The token could not be renamed because values that were stored while the vault was locked "
                    + "are pending under the \(which) name. Accept or reject those values first.")
        }
    }
}
