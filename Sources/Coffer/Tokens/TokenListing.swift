import CofferBase
import CofferEngine

/// The descriptions of all readable tokens, and a list of the tokens that cannot be read.
public struct TokenListing: Sendable, Equatable {
    /// The descriptions of the readable tokens, in the same order as in ``TokenStore/list()``.
    public let tokens: [TokenInfo]
    /// The tokens that cannot be read. Each stays stored until the caller removes the token with its name.
    public let corrupt: [UnreadableToken]
}

extension TokenStore {
    /// Returns the descriptions of all readable tokens, without their values, and a list of the damaged
    /// tokens.
    ///
    /// - Throws: `locked` if any token cannot be read now; `wiped`; `corrupt` if the storage itself is
    ///   damaged.
    public func listing() async throws(CofferError) -> TokenListing {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try listingNow() }
    }

    /// Returns the descriptions like ``listing()``. Blocks.
    func listingNow() throws(CofferError) -> TokenListing {
        try core.drainPendingTokens()
        let stored = try storage.readableEnvelopes()
        var all = stored.envelopes.mapValues { StoredEnvelope(bytes: $0, isEphemeral: false) }
        for (name, bytes) in try core.ephemeralTokens.envelopes() {
            let ephemeral = StoredEnvelope(bytes: bytes, isEphemeral: true)
            // The same choice as in ``findEnvelope(_:orLocked:)``.
            if all[name] == nil || isOpen(ephemeral) { all[name] = ephemeral }
        }
        var tokens: [TokenInfo] = []
        var corrupt = stored.damaged.map { UnreadableToken(name: $0, code: .corrupt) }
        for (name, found) in all {
            do throws(CofferError) {
                tokens.append(try open(found, name: name, withValue: false).info)
            } catch {
                guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
                let hex = HexText.encode(name)
                corrupt.append(UnreadableToken(name: hex, code: error.code))
            }
        }
        return TokenListing(
            tokens: tokens.sorted { $0.id.precedes($1.id) },
            corrupt: corrupt.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }
}
