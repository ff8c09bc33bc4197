import Coffer
import CofferBase
import CofferDBus
import CofferEngine
import FoundationEssentials

/// Collections and aliases.
extension ServiceHost {
    static var now: UInt64 { UInt64(max(0, Date().timeIntervalSince1970)) }

    /// The most collections, and the longest label of one in bytes.
    private static let maxCollections = 256
    private static let maxLabelLength = 1024

    func callCollection(_ id: String, _ call: ServedCall) async throws(ServiceError) -> [BusContent] {
        switch call.member {
        case "SearchItems":
            return [.paths(try search(ItemAttributes(call.arguments[0]), in: id).map(ServiceName.item))]
        case "CreateItem": return try await createItem(in: id, call)
        case "Delete":
            guard collections[id]?.isVolatile != true else {
                throw .unsupported("The session collection cannot be deleted.")
            }
            if isLocked(id), await !unlockSilently() {
                return [.path(try addPrompt(.deleteCollection(id), for: call.sender))]
            }
            try await deleteCollection(id)
            return [.path(ServiceName.none)]
        default: throw .unknownMethod
        }
    }

    func createCollection(
        _ arguments: [BusContent], for owner: String
    ) async throws(ServiceError) -> [BusContent] {
        let label = Properties(arguments[0]).text(ServiceName.collection + ".Label") ?? ""
        let alias = arguments[1].text ?? ""
        guard alias.isEmpty || ServiceName.isElement(alias) else {
            throw .invalid("An alias must be made of ASCII letters, digits and underscores.")
        }
        if !alias.isEmpty, let id = aliases[alias], collections[id] != nil {
            return [.path(ServiceName.collection(id)), .path(ServiceName.none)]
        }
        if !isUnlocked, await !unlockSilently() {
            let action = ServicePrompt.Action.createCollection(label: label, alias: alias)
            return [.path(ServiceName.none), .path(try addPrompt(action, for: owner))]
        }
        let id = try await addCollection(label: label, alias: alias)
        return [.path(ServiceName.collection(id)), .path(ServiceName.none)]
    }

    /// Creates a collection and returns its name.
    func addCollection(label: String, alias: String) async throws(ServiceError) -> String {
        guard collections.count < Self.maxCollections else { throw .limit("There are too many collections.") }
        try checkLabel(label)
        var id = String(
            decoding: label.utf8.prefix(32).filter {
                ServiceName.isElement(String(decoding: [$0], as: UTF8.self))
            },
            as: UTF8.self)
        if id.isEmpty { id = "collection" }
        var number = 1
        let stem = id
        while collections[id] != nil {
            number += 1
            id = "\(stem)_\(number)"
        }
        var record = (collections, aliases)
        record.0[id] = ServedCollection(id: id, label: label, created: Self.now, modified: Self.now)
        if !alias.isEmpty { record.1[alias] = id }
        try await writeRecord(record.0, record.1)
        members[id] = []
        signalService("CollectionCreated", ServiceName.collection(id))
        return id
    }

    func deleteCollection(_ id: String) async throws(ServiceError) {
        try await deleteItems((members[id] ?? []).map { ItemKey(collection: id, item: $0) })
        var record = (collections, aliases)
        record.0[id] = nil
        record.1 = record.1.filter { !$0.value.hasSameBytes(as: id) }
        try await writeRecord(record.0, record.1)
        members[id] = nil
        signalService("CollectionDeleted", ServiceName.collection(id))
    }

    func setAlias(_ name: String, to path: String) async throws(ServiceError) {
        guard ServiceName.isElement(name) else {
            throw .invalid("An alias must be made of ASCII letters, digits and underscores.")
        }
        guard !name.hasSameBytes(as: Self.volatileCollection) else {
            throw .unsupported("The alias session belongs to the collection in memory.")
        }
        var changed = aliases
        if path.hasSameBytes(as: ServiceName.none) {
            changed[name] = nil
        } else {
            guard case .collection(let id) = ServedObject(path, aliases: aliases),
                let collection = collections[id]
            else { throw .noSuchObject }
            guard !collection.isVolatile else {
                throw .unsupported("Only the alias session can be that of the collection in memory.")
            }
            changed[name] = id
        }
        guard changed.count <= Self.maxCollections else { throw .limit("There are too many aliases.") }
        guard isUnlocked else { throw .isLocked }
        try await writeRecord(collections, changed)
    }

    func setLabel(_ id: String, _ label: String) async throws(ServiceError) {
        guard !isLocked(id), let present = collections[id] else { throw .isLocked }
        try checkLabel(label)
        var changed = collections
        changed[id]?.label = label
        changed[id]?.modified = Self.now
        if present.isVolatile { collections = changed } else { try await writeRecord(changed, aliases) }
        signalProperties(
            ServiceName.collection(id), ServiceName.collection,
            [("Label", .text(label)), ("Modified", .large(changed[id]?.modified ?? 0))])
        signalService("CollectionChanged", ServiceName.collection(id))
    }

    func checkLabel(_ label: String) throws(ServiceError) {
        guard label.utf8.count <= Self.maxLabelLength else {
            throw .invalid("A label must be at most \(Self.maxLabelLength) bytes long.")
        }
    }

    /// Stores the collections and aliases in the vault, and then changes them here.
    private func writeRecord(
        _ changed: [String: ServedCollection], _ newAliases: [String: String]
    ) async throws(ServiceError) {
        do throws(CofferError) {
            try await CollectionRecord(changed, newAliases).write(to: vault)
            await noteOwnChange()
        } catch {
            throw ServiceError(error)
        }
        collections = changed
        aliases = newAliases
        await writeIndex()
    }
}

/// The properties of a new object.
struct Properties {
    private let pairs: [(String, BusContent)]

    init(_ content: BusContent?) {
        pairs = (content?.elements ?? []).compactMap { element in
            guard case .entry(let name, let value) = element, let name = name.text,
                let content = value.content
            else { return nil }
            return (name, content)
        }
    }

    /// Returns the last property with a name.
    func value(_ name: String) -> BusContent? { pairs.last { $0.0.hasSameBytes(as: name) }?.1 }
    func text(_ name: String) -> String? { value(name)?.text }
}
