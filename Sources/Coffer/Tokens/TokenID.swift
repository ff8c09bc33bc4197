public import CofferBase
import CofferCrypto
import CofferVault

/// A token's name: its service, account and kind. Names are compared byte by byte, so names that merely look
/// the same, such as "é" written with one and with two code points, are different.
public struct TokenID: Sendable, Hashable {
    /// The service, such as a host name: 1 to 1024 bytes of UTF-8.
    public let service: String
    /// The account at the service: 0 to 1024 bytes of UTF-8.
    public let account: String
    /// The token's purpose.
    public let kind: TokenKind

    /// Creates a token ID.
    ///
    /// - Throws: `invalidInput` if the service is empty, or if the service or the account is longer than 1024
    ///   bytes.
    public init(service: String, account: String, kind: TokenKind = .access) throws(CofferError) {
        guard (1...1024).contains(service.utf8.count), account.utf8.count <= 1024 else {
            throw CofferError(
                .invalidInput,
                "A service name must be 1 to 1024 bytes long, and an account name at most 1024 bytes long.")
        }
        self.service = service
        self.account = account
        self.kind = kind
    }

    /// Returns whether two IDs have the same bytes. Swift itself compares strings by canonical equivalence.
    public static func == (left: TokenID, right: TokenID) -> Bool {
        left.kind == right.kind && left.service.hasSameBytes(as: right.service)
            && left.account.hasSameBytes(as: right.account)
    }

    /// Hashes the same bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(service.utf8.count)
        for byte in service.utf8 { hasher.combine(byte) }
        for byte in account.utf8 { hasher.combine(byte) }
    }

    /// Returns whether this ID sorts before another. IDs are sorted by the bytes of the service, then by the
    /// bytes of the account, and then by the kind.
    func precedes(_ other: TokenID) -> Bool {
        guard service.hasSameBytes(as: other.service) else {
            return service.utf8.lexicographicallyPrecedes(other.service.utf8)
        }
        guard account.hasSameBytes(as: other.account) else {
            return account.utf8.lexicographicallyPrecedes(other.account.utf8)
        }
        return kind.rawValue < other.kind.rawValue
    }

    /// Returns the 32-byte keyed hash that a storage backend receives instead of the token's name.
    func keyedHash(_ key: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.appendText(service)
        writer.appendText(account)
        writer.append(kind.rawValue)
        return try HMAC.authenticate(writer.bytes.span, key: key)
    }
}
