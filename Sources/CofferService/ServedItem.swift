import Coffer
import CofferBase
import FoundationEssentials

/// An item of a collection, without its secret unless the collection is kept in memory.
struct ServedItem: Sendable {
    let key: ItemKey
    var label = ""
    /// The attributes; `nil` if they have not been read since the start or the last lock.
    var attributes: ItemAttributes?
    /// The keyed hashes of the attributes, which are known while the vault is locked, too.
    var pairs: Set<PairHash>
    var contentType = "text/plain"
    /// The time of creation, in seconds since 1970.
    var created: UInt64
    /// The time of the last change, in seconds since 1970.
    var modified: UInt64
    /// The secret of an item that is kept only in memory.
    var secret: Token?
}

/// The keyed hash of an attribute's name and value.
struct PairHash: Sendable, Hashable {
    let first: UInt64
    let second: UInt64

    init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    init(_ name: String, _ value: String, _ hasher: Vault.PairHasher) throws(CofferError) {
        (first, second) = try hasher.hash(name, value)
    }
}

/// A collection, without its items.
struct ServedCollection: Sendable {
    let id: String
    var label: String
    var created: UInt64
    var modified: UInt64
    /// Whether the collection is kept only in memory.
    var isVolatile = false
}

/// An item's description as attributes of its token.
///
/// A token's attributes are a dictionary whose keys Swift compares by canonical equivalence, so the names are
/// written in ASCII: `%` and every byte that is not printable ASCII become `%` and two hexadecimal digits.
enum ItemCoding {
    /// The service of an item's token, for the collection's name to follow.
    static let service = "secret-service/"

    static func id(_ key: ItemKey) throws(CofferError) -> TokenID {
        try TokenID(service: service + key.collection, account: key.item, kind: .other)
    }

    /// Returns the item that a token belongs to; `nil` if the token is not an item's.
    static func key(of id: TokenID) -> ItemKey? {
        guard id.kind == .other, id.service.utf8.hasPrefix(service) else { return nil }
        let collection = String(decoding: id.service.utf8.dropFirst(service.utf8.count), as: UTF8.self)
        guard ServiceName.isElement(collection), ServiceName.isElement(id.account) else { return nil }
        return ItemKey(collection: collection, item: id.account)
    }

    static func encode(_ item: ServedItem) -> [String: String] {
        var encoded = ["label": item.label, "type": item.contentType, "created": "\(item.created)"]
        for (name, value) in item.attributes?.pairs ?? [] { encoded["." + escaped(name)] = value }
        return encoded
    }

    static func item(_ key: ItemKey, _ info: TokenInfo, _ hasher: Vault.PairHasher) throws(CofferError)
        -> ServedItem
    {
        let attributes = ItemAttributes(
            info.attributes.compactMap { name, value in
                name.utf8.hasPrefix(".") ? (unescaped(name.utf8.dropFirst()), value) : nil
            })
        let pairs = try pairs(of: attributes, hasher)
        let modified = UInt64(max(0, info.stored.timeIntervalSince1970))
        return ServedItem(
            key: key, label: info.attributes["label"] ?? "", attributes: attributes, pairs: pairs,
            contentType: info.attributes["type"] ?? "text/plain",
            created: info.attributes["created"].flatMap { UInt64($0) } ?? modified, modified: modified)
    }

    /// Returns the keyed hashes of attributes; none if these are not known.
    static func pairs(
        of attributes: ItemAttributes?, _ hasher: Vault.PairHasher
    ) throws(CofferError) -> Set<PairHash> {
        var pairs: Set<PairHash> = []
        for (name, value) in attributes?.pairs ?? [] { pairs.insert(try PairHash(name, value, hasher)) }
        return pairs
    }

    private static func escaped(_ name: String) -> String {
        var result: [UInt8] = []
        for byte in name.utf8 {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result += HexText.encode([byte]).utf8
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func unescaped(_ name: Substring.UTF8View) -> String {
        var result: [UInt8] = []
        var rest = name[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16), digits.utf8.count == 2 {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
