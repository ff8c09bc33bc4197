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
    /// The issuer to which the token may be sent; `nil` if it is unknown, after which it is sent nowhere.
    package let issuer: String?
    /// The token endpoint at the sign-in that the token came from; `nil` if it is unknown.
    package let tokenEndpoint: String?
    /// The time since 1970 at which it was put aside.
    package let added: Duration

    /// The time after which a token that could not be revoked is dropped.
    package static let longestWait = Duration.seconds(30 * 86400)
    /// The greatest number of tokens that wait for one session. Long tokens are fewer, so that the list has a
    /// stored form.
    package static let maxCount = 64
    /// The version of the stored form. Version 1 has no issuers, version 2 no token endpoints.
    private static let version: UInt8 = 3
    private static let maxTextByteCount = 1 << 14

    /// Creates an entry.
    package init(
        _ kind: TokenKind, _ token: Token, issuer: String?, tokenEndpoint: String? = nil, added: Duration
    ) {
        self.kind = kind
        self.token = token
        self.issuer = issuer
        self.tokenEndpoint = tokenEndpoint
        self.added = added
    }

    /// Creates an entry for a token of a sign-in, whose record is `origin`.
    init(_ kind: TokenKind, _ token: Token, of origin: GrantRecord?, added: Duration) {
        self.init(
            kind, token, issuer: origin?.issuer, tokenEndpoint: origin?.tokenEndpoint, added: added)
    }

    /// Returns whether the token may be sent to the server of a profile: to the issuer that it came from, and
    /// only while the profile has the token endpoint of that sign-in. A profile of the same name and issuer
    /// can have been entered with the endpoints of others.
    ///
    /// - Parameters:
    ///   - other: The profile's issuer.
    ///   - endpoint: The profile's token endpoint; `nil` before the first discovery.
    /// - Returns: Whether the token may be sent there.
    func isFrom(_ other: String, tokenEndpoint endpoint: String?) -> Bool {
        guard issuer?.hasSameBytes(as: other) == true else { return false }
        guard let tokenEndpoint else { return true }
        return endpoint?.hasSameBytes(as: tokenEndpoint) == true
    }

    /// Returns whether the entry contains the same bytes as a token.
    func isOf(_ other: Token) -> Bool { token.hasSameBytes(as: other) }

    /// Removes the oldest entries until the others have a stored form, whose length is limited.
    static func makeRoom(in entries: inout [PendingRevocation]) {
        var size = 2 + entries.reduce(0) { $0 + $1.encodedCount }
        var dropped = 0
        while entries.count - dropped > maxCount || size > Token.maxByteCount {
            size -= entries[dropped].encodedCount
            dropped += 1
        }
        entries.removeFirst(dropped)
    }

    /// The number of bytes of the entry in the stored form.
    private var encodedCount: Int {
        21 + (issuer?.utf8.count ?? 0) + (tokenEndpoint?.utf8.count ?? 0) + token.count
    }

    /// Returns the stored form: one byte for the version and one for the number of tokens, then for each
    /// token its kind, the time in seconds, the length of the token in four bytes, the issuer and the token
    /// endpoint, each after its length in four bytes, and the token's bytes. What is unknown has the length
    /// zero.
    static func encoded(_ entries: [PendingRevocation]) throws(CofferError) -> Token {
        var buffer = try GuardedBuffer.make(limit: Token.maxByteCount)
        try buffer.append([version, UInt8(entries.count)].span)
        for entry in entries {
            var head = [entry.kind.rawValue] + entry.added.components.seconds.bigEndianBytes
            head += UInt32(entry.token.count).bigEndianBytes
            for text in [entry.issuer, entry.tokenEndpoint] {
                let bytes = [UInt8]((text ?? "").utf8)
                head += UInt32(bytes.count).bigEndianBytes + bytes
            }
            try buffer.append(head.span)
            let bytes = try entry.token.guardedCopy()
            try buffer.append(bytes.guarded.span)
        }
        return try Token(SecretBytes(buffer.finish()))
    }

    /// Returns whether an earlier release, which stored no issuers, wrote the stored form.
    static func isOlder(_ token: Token) -> Bool { token.exposing { $0.count > 0 ? $0[0] == 1 : false } }

    /// Reads the stored form.
    ///
    /// - Parameters:
    ///   - token: The stored form.
    ///   - older: The issuer of tokens that an earlier release put aside; `nil` if it is unknown.
    /// - Returns: The entries.
    /// - Throws: `corrupt` if it is invalid; `unsupportedVersion` if a newer release stored it.
    static func decoded(
        _ token: Token, issuerOfOlder older: String?
    ) throws(CofferError) -> [PendingRevocation] {
        try token.exposing { (bytes) throws(CofferError) -> [PendingRevocation] in
            guard bytes.count >= 2, bytes[0] > 0, bytes[1] <= maxCount else { throw corrupt }
            guard bytes[0] <= version else {
                throw CofferError(
                    .unsupportedVersion, "A newer release stored tokens to revoke.",
                    remedy: .useNewerRelease)
            }
            let textCount = Int(bytes[0]) - 1
            var entries: [PendingRevocation] = []
            var at = 2
            for _ in 0..<bytes[1] {
                guard bytes.count - at >= 13, let kind = TokenKind(rawValue: bytes[at]) else { throw corrupt }
                let added = bytes.bigEndian(Int64.self, at: at + 1)
                let count = Int(bytes.bigEndian(UInt32.self, at: at + 9))
                at += 13
                var texts: [String?] = []
                for _ in 0..<textCount { texts.append(try Self.text(bytes, at: &at)) }
                guard count <= bytes.count - at else { throw corrupt }
                let value = try SecretBytes.copying(bytes.extracting(at..<at + count))
                entries.append(
                    PendingRevocation(
                        kind, try Token(value), issuer: textCount > 0 ? texts[0] : older,
                        tokenEndpoint: textCount > 1 ? texts[1] : nil, added: .seconds(added)))
                at += count
            }
            guard at == bytes.count else { throw corrupt }
            return entries
        }
    }

    /// Reads a text after its length and moves behind it; `nil` if it is unknown.
    private static func text(_ bytes: Span<UInt8>, at place: inout Int) throws(CofferError) -> String? {
        guard bytes.count - place >= 4 else { throw corrupt }
        let (count, start) = (Int(bytes.bigEndian(UInt32.self, at: place)), place + 4)
        place = start
        guard count > 0 else { return nil }
        guard count <= maxTextByteCount, count <= bytes.count - start,
            let text = String(validating: bytes.extracting(start..<start + count).copied(), as: UTF8.self)
        else { throw corrupt }
        place = start + count
        return text
    }

    private static var corrupt: CofferError {
        CofferError(.corrupt, "The list of tokens to revoke is damaged.")
    }
}

extension Token {
    /// Returns whether both tokens have the same bytes, in time that depends only on the lengths.
    func hasSameBytes(as other: Token) -> Bool {
        exposing { own in other.exposing { ConstantTime.equal(own, $0) } }
    }
}
