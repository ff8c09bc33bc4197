package import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// A token that is no longer used and that the server is still to revoke.
package struct PendingRevocation: Sendable {
    /// The kind of token: a refresh or an access token.
    package let kind: TokenKind
    /// The token.
    package let token: Token
    /// The time since 1970 at which it was put aside.
    package let added: Duration

    /// The time after which a token that could not be revoked is dropped.
    package static let longestWait = Duration.seconds(30 * 86400)
    /// The greatest number of tokens that wait for one session.
    package static let maxCount = 64

    /// Creates an entry.
    package init(_ kind: TokenKind, _ token: Token, added: Duration) {
        self.kind = kind
        self.token = token
        self.added = added
    }

    /// Returns whether the entry contains the same bytes as a token.
    func isOf(_ other: Token) -> Bool { token.hasSameBytes(as: other) }

    /// Returns the stored form: one byte for the version and one for the number of tokens, then for each
    /// token its kind, the time in seconds, its length and its bytes.
    static func encoded(_ entries: [PendingRevocation]) throws(CofferError) -> Token {
        var buffer = try GuardedBuffer.make(limit: Token.maxByteCount)
        try buffer.append([1, UInt8(entries.count)].span)
        for entry in entries {
            let head =
                [entry.kind.rawValue] + entry.added.components.seconds.bigEndianBytes
                + UInt32(entry.token.count).bigEndianBytes
            try buffer.append(head.span)
            let bytes = try entry.token.guardedCopy()
            try buffer.append(bytes.guarded.span)
        }
        return try Token(SecretBytes(buffer.finish()))
    }

    /// Reads the stored form.
    ///
    /// - Throws: `corrupt` if it is invalid; `unsupportedVersion` if a newer release stored it.
    static func decoded(_ token: Token) throws(CofferError) -> [PendingRevocation] {
        try token.exposing { (bytes) throws(CofferError) -> [PendingRevocation] in
            let corrupt = CofferError(.corrupt, "The list of tokens to revoke is damaged.")
            guard bytes.count >= 2, bytes[0] > 0, bytes[1] <= maxCount else { throw corrupt }
            guard bytes[0] == 1 else {
                throw CofferError(
                    .unsupportedVersion, "A newer release stored tokens to revoke.",
                    remedy: .useNewerRelease)
            }
            var entries: [PendingRevocation] = []
            var at = 2
            for _ in 0..<bytes[1] {
                guard bytes.count - at >= 13, let kind = TokenKind(rawValue: bytes[at]) else { throw corrupt }
                let added = bytes.bigEndian(Int64.self, at: at + 1)
                let count = Int(bytes.bigEndian(UInt32.self, at: at + 9))
                at += 13
                guard count <= bytes.count - at else { throw corrupt }
                let value = try SecretBytes.copying(bytes.extracting(at..<at + count))
                entries.append(PendingRevocation(kind, try Token(value), added: .seconds(added)))
                at += count
            }
            guard at == bytes.count else { throw corrupt }
            return entries
        }
    }
}

extension Token {
    /// Returns whether both tokens have the same bytes, in time that depends only on the lengths.
    func hasSameBytes(as other: Token) -> Bool {
        exposing { own in other.exposing { ConstantTime.equal(own, $0) } }
    }
}
