import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite

/// A database's key as the vault stores it.
///
/// While the key and the file of a database are being replaced, the stored secret is the database's key and,
/// behind it, the one that is to replace it. Earlier releases refuse such a key, because of its size.
struct StoredDatabaseKey: Sendable {
    /// The token attribute that stores the first page's plaintext bytes with the key, as soon as a first page
    /// exists. Without it, a file truncated to zero bytes would be mistaken for a new database.
    static let identityAttribute = "identity"
    /// The token attribute with the plaintext bytes of the file that is to replace the database's.
    static let successorAttribute = "successor"
    /// The size of a key in bytes.
    static let byteCount = 32

    /// One of two stored keys.
    struct Half {
        let value: DatabaseKeyValue
        /// The salt of the file under the key.
        let salt: [UInt8]
        let handle: DatabaseKeyHandle
    }

    let token: Token
    let info: TokenInfo

    init(_ stored: StoredToken) { (token, info) = (stored.token, stored.info) }

    /// Whether the replacement of the key was interrupted.
    var isDouble: Bool { token.count == 2 * Self.byteCount }

    /// The salt of the database's file; `nil` until its first page is recorded.
    var salt: [UInt8]? { Self.salt(in: info.attributes) }

    /// Registers the key; with the salt, the first page has the plaintext bytes that are stored.
    func handle(reserve: Int? = nil) throws(CofferError) -> DatabaseKeyHandle {
        try Self.handle(token, salt: salt, reserve: reserve)
    }

    /// Whether this is the same stored key as `other`.
    func hasSameKey(as other: StoredDatabaseKey) -> Bool { token.hasSameBytes(as: other.token) }

    /// Registers a key of 32 bytes.
    static func handle(
        _ token: Token, salt: [UInt8]? = nil, reserve: Int? = nil
    ) throws(CofferError) -> DatabaseKeyHandle {
        let secret = try token.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        return try DatabaseKey.raw(secret, salt: salt).handle(reserve: reserve)
    }

    /// Returns the salt that the attributes of a database's key contain; `nil` if no first page is recorded.
    static func salt(in attributes: [String: String]) -> [UInt8]? {
        DatabaseKeyHandle.salt(ofIdentity: identity(attributes, identityAttribute) ?? [])
    }

    private static func identity(_ attributes: [String: String], _ name: String) -> [UInt8]? {
        attributes[name].flatMap { HexText.decode($0) }
    }

    /// Returns what to store for a key and its file.
    static func value(_ key: Token, _ identity: [UInt8]) -> DatabaseKeyValue {
        DatabaseKeyValue(key, attributes: [identityAttribute: HexText.encode(identity)])
    }

    /// Returns what to store for two keys and their files until it is certain which of the two files has the
    /// database's name.
    static func value(
        _ old: Token, _ identity: [UInt8], or new: Token, _ successor: [UInt8]
    ) throws(CofferError) -> DatabaseKeyValue {
        let both = try old.exposing { (old) throws(CofferError) in
            try new.exposing { (new) throws(CofferError) in try Self.joined(old, new) }
        }
        return DatabaseKeyValue(
            both,
            attributes: [
                identityAttribute: HexText.encode(identity), successorAttribute: HexText.encode(successor),
            ])
    }

    private static func joined(_ old: Span<UInt8>, _ new: Span<UInt8>) throws(CofferError) -> Token {
        try Token(SecretBytes(GuardedBytes.concatenating(old, new)))
    }

    /// The two keys of an interrupted replacement; `nil` if what is stored with them is not complete.
    func halves() throws(CofferError) -> (old: Half, new: Half)? {
        guard isDouble, let identity = Self.identity(info.attributes, Self.identityAttribute),
            let successor = Self.identity(info.attributes, Self.successorAttribute),
            let old = try half(0..<Self.byteCount, identity),
            let new = try half(Self.byteCount..<token.count, successor)
        else { return nil }
        return (old, new)
    }

    private func half(_ range: Range<Int>, _ identity: [UInt8]) throws(CofferError) -> Half? {
        guard let salt = DatabaseKeyHandle.salt(ofIdentity: identity) else { return nil }
        let key = try token.exposing { (bytes) throws(CofferError) in
            try Token(SecretBytes.copying(bytes.extracting(range)))
        }
        return Half(value: Self.value(key, identity), salt: salt, handle: try Self.handle(key))
    }
}
