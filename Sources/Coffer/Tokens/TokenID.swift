public import CofferBase
import CofferCrypto

/// The name of a token: the service it is for, the account, and its kind. Compared byte for byte: names that
/// only look the same, such as "é" in one and in two code points, are two names.
public struct TokenID: Sendable, Hashable {
    /// The service, such as a host name. 1 to 1024 bytes of UTF-8.
    public let service: String
    /// The account at the service. 0 to 1024 bytes of UTF-8.
    public let account: String
    /// What the token is for.
    public let kind: TokenKind

    /// Checks and keeps the parts.
    ///
    /// - Throws: `invalidInput` for an empty service or parts that are too long.
    public init(service: String, account: String, kind: TokenKind = .access) throws(CofferError) {
        guard (1...1024).contains(service.utf8.count), account.utf8.count <= 1024 else {
            throw CofferError(.invalidInput, "A service has 1 to 1024 bytes and an account at most 1024.")
        }
        self.service = service
        self.account = account
        self.kind = kind
    }

    /// Whether both have the same bytes. Strings themselves compare by canonical equivalence.
    public static func == (left: TokenID, right: TokenID) -> Bool {
        left.kind == right.kind && left.service.hasSameBytes(as: right.service)
            && left.account.hasSameBytes(as: right.account)
    }

    /// Feeds the same bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(service.utf8.count)
        for byte in service.utf8 { hasher.combine(byte) }
        for byte in account.utf8 { hasher.combine(byte) }
    }

    /// Whether this name stands before another in lists: by the bytes of service and account, then by kind.
    func precedes(_ other: TokenID) -> Bool {
        guard service.hasSameBytes(as: other.service) else {
            return service.utf8.lexicographicallyPrecedes(other.service.utf8)
        }
        guard account.hasSameBytes(as: other.account) else {
            return account.utf8.lexicographicallyPrecedes(other.account.utf8)
        }
        return kind.rawValue < other.kind.rawValue
    }

    /// What the keyring sees instead of the names: a keyed hash of 32 bytes.
    func keyedHash(_ key: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.appendText(service)
        writer.appendText(account)
        writer.append(kind.rawValue)
        return try HMAC.authenticate(writer.bytes.span, key: key)
    }
}
