import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// The collections and aliases of a vault, as the value of one token.
struct CollectionRecord {
    private static let version: UInt8 = 1
    private static let service = "secret-service"
    private static let account = "collections"

    var collections: [String: ServedCollection]
    var aliases: [String: String]

    /// Creates a record without the collection that is kept in memory and its aliases.
    init(_ collections: [String: ServedCollection], _ aliases: [String: String]) {
        let kept = collections.filter { !$0.value.isVolatile }
        self.collections = kept
        self.aliases = aliases.filter { kept[$0.value] != nil }
    }

    /// The collections of a vault that has no record yet.
    static var standard: CollectionRecord {
        let id = ServiceHost.standardCollection
        let time = ServiceHost.now
        return CollectionRecord(
            [id: ServedCollection(id: id, label: "Login", created: time, modified: time)],
            ["default": id, id: id])
    }

    /// Stores the record.
    func write(to vault: Vault) async throws(CofferError) {
        var writer = BinaryWriter()
        encode(to: &writer)
        _ = try await vault.tokens.put(Token(copying: writer.bytes), for: Self.id())
    }

    /// Reads a vault's record; returns the standard one if there is none.
    static func read(from vault: Vault) async throws(CofferError) -> CollectionRecord {
        guard let stored = try await vault.tokens.get(id()) else { return standard }
        var reader = BinaryReader(
            stored.token.copyBytes(), name: "list of the Secret Service's collections")
        return try CollectionRecord(&reader)
    }

    private static func id() throws(CofferError) -> TokenID {
        try TokenID(service: service, account: account, kind: .other)
    }

    func encode(to writer: inout BinaryWriter) {
        writer.append(Self.version)
        writer.append(UInt16(collections.count))
        for collection in collections.values.sorted(by: { $0.id < $1.id }) {
            writer.appendText(collection.id)
            writer.appendText(collection.label)
            writer.append(collection.created)
            writer.append(collection.modified)
        }
        writer.append(UInt16(aliases.count))
        for (name, id) in aliases.sorted(by: { $0.key < $1.key }) {
            writer.appendText(name)
            writer.appendText(id)
        }
    }

    init(_ reader: inout BinaryReader) throws(CofferError) {
        guard try reader.number(UInt8.self) == Self.version else {
            throw CofferError(
                .unsupportedVersion, "The list of the Secret Service's collections is a newer release's.",
                remedy: .useNewerRelease)
        }
        collections = [:]
        aliases = [:]
        for _ in 0..<(try reader.number(UInt16.self)) {
            let id = try reader.text()
            let label = try reader.text()
            let created = try reader.number(UInt64.self)
            let modified = try reader.number(UInt64.self)
            guard ServiceName.isElement(id) else { throw reader.corruptError }
            collections[id] = ServedCollection(id: id, label: label, created: created, modified: modified)
        }
        for _ in 0..<(try reader.number(UInt16.self)) {
            let name = try reader.text()
            let id = try reader.text()
            guard ServiceName.isElement(name) else { throw reader.corruptError }
            // Records once had aliases of the collection in memory. Without them, all the rest is there.
            if collections[id] != nil { aliases[name] = id }
        }
    }
}
