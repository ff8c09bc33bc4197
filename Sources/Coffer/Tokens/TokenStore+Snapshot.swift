package import CofferBase
import CofferEngine
package import CofferVault
package import FoundationEssentials

/// A stored token in its sealed form.
package struct SealedToken: Sendable {
    /// The keyed hash of the token's name.
    package let name: [UInt8]
    package let envelope: [UInt8]
    package let protection: ProtectionClass

    init(name: [UInt8], envelope: [UInt8], protection: ProtectionClass) {
        self.name = name
        self.envelope = envelope
        self.protection = protection
    }

    /// Creates a sealed token from the bytes of a backup; returns `nil` if they do not have the form of one.
    package init?(name: [UInt8], envelope: [UInt8]) {
        guard let protection = try? TokenEnvelope.decode(envelope).protection else { return nil }
        self.init(name: name, envelope: envelope, protection: protection)
    }
}

/// The stored tokens of a vault at one moment, sealed.
package struct TokenSnapshot: Sendable {
    /// The tokens in the order of their keyed names.
    package var tokens: [SealedToken] = []
    /// The keys of databases, by their keyed names.
    package var databaseKeys: [[UInt8]: SealedToken] = [:]
    /// The number of stored tokens that are damaged.
    package var damaged = 0
}

extension TokenStore {
    /// Returns the stored tokens, sealed. The caller holds the vault directory's lock.
    func snapshot(in vault: borrowing Descriptor) throws(CofferError) -> TokenSnapshot {
        let stored = try storage.readableEnvelopes()
        var snapshot = TokenSnapshot(damaged: stored.damaged.count)
        let databases = try DatabaseKeyNaming.names(in: vault, device: core.device)
        for (name, envelope) in stored.envelopes {
            guard let protection = try? TokenEnvelope.decode(envelope).protection else {
                snapshot.damaged += 1
                continue
            }
            let token = SealedToken(name: name, envelope: envelope, protection: protection)
            if databases.contains(name) {
                snapshot.databaseKeys[name] = token
            } else {
                snapshot.tokens.append(token)
            }
        }
        snapshot.tokens.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return snapshot
    }

    /// Returns the keyed hash of a token's name, under which the token is stored.
    package func keyedName(of id: TokenID) throws(CofferError) -> [UInt8] { try name(of: id) }

    /// Opens a sealed token. Blocks.
    ///
    /// - Returns: The token and its description.
    /// - Throws: `locked` if its class is locked; `corrupt` if it is damaged or of another vault.
    package func open(_ sealed: SealedToken) throws(CofferError) -> StoredToken {
        let found = StoredEnvelope(bytes: sealed.envelope, isEphemeral: false)
        let (info, token) = try open(found, name: sealed.name, withValue: true)
        guard let token else { throw CofferError.locked }
        return StoredToken(token: token, info: info)
    }

    /// Returns a stored token; `nil` if there is none. Blocks.
    package func stored(_ id: TokenID) throws(CofferError) -> StoredToken? {
        try sealed(id).map { (sealed) throws(CofferError) in try open(sealed) }
    }

    /// Returns a stored token in its sealed form; `nil` if there is none. Blocks.
    package func sealed(_ id: TokenID) throws(CofferError) -> SealedToken? {
        let name = try name(of: id)
        guard let envelope = try storage.envelope(name) else { return nil }
        return SealedToken(
            name: name, envelope: envelope, protection: try TokenEnvelope.decode(envelope).protection)
    }
}

extension TokenInfo {
    /// Whether the token is one of the library's own, such as a database's key, an OAuth profile or a token
    /// of a session.
    package var isReserved: Bool { !ReservedServices.isWritable(id) }

    /// The dates in nanoseconds since 1970.
    package var storedNanoseconds: Int64 { stored.nanosecondsSince1970 }
    package var expiryNanoseconds: Int64? { expires?.nanosecondsSince1970 }
}

extension Date {
    /// Creates a date from nanoseconds since 1970, as stored items have them.
    package static func ofItem(_ nanoseconds: Int64) -> Date { Date(nanosecondsSince1970: nanoseconds) }
}
