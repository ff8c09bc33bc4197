import CofferBase
import CofferDBus

/// Properties and signals.
extension ServiceHost {
    func callProperties(
        _ object: ServedObject, _ call: ServedCall
    ) async throws(ServiceError) -> [BusContent] {
        let name = call.arguments[0].text ?? ""
        guard let interface = object.interfaces.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw .unknownInterface
        }
        if call.member.hasSameBytes(as: "GetAll") {
            return [.properties(interface.properties.map { ($0.name, value(of: $0.name, object)) })]
        }
        let wanted = call.arguments[1].text ?? ""
        guard let property = interface.properties.first(where: { $0.name.hasSameBytes(as: wanted) }) else {
            throw .unknownProperty
        }
        guard call.member.hasSameBytes(as: "Set") else {
            return [.variant(value(of: property.name, object))]
        }
        guard property.isWritable else { throw .readOnly }
        guard let value = call.arguments[2].content, value.type.hasSameBytes(as: property.type) else {
            throw .invalid("\(property.name) has the type \(property.type).")
        }
        try await set(property.name, of: object, to: value)
        return []
    }

    private func set(
        _ property: String, of object: ServedObject, to value: BusContent
    ) async throws(ServiceError) {
        switch object {
        case .collection(let id): try await setLabel(id, value.text ?? "")
        case .item(let key):
            if property.hasSameBytes(as: "Label") {
                let label = value.text ?? ""
                try checkLabel(label)
                try await change(key) { $0.label = label }
            } else {
                let attributes = try ItemAttributes(value)
                try await change(key) { $0.attributes = attributes }
            }
            signalChange(of: key)
        default: throw .readOnly
        }
    }

    private func value(of property: String, _ object: ServedObject) -> BusContent {
        switch object {
        case .service: .paths(collections.keys.sorted().map { ServiceName.collection($0) })
        case .collection(let id): value(of: property, collections[id], id)
        case .item(let key): value(of: property, items[key], key)
        default: .text("")
        }
    }

    private func value(of property: String, _ collection: ServedCollection?, _ id: String) -> BusContent {
        switch property {
        case "Items": itemPaths(of: id)
        case "Label": .text(collection?.label ?? "")
        case "Locked": .flag(isLocked(id))
        case "Created": .large(collection?.created ?? 0)
        default: .large(collection?.modified ?? 0)
        }
    }

    private func value(of property: String, _ item: ServedItem?, _ key: ItemKey) -> BusContent {
        switch property {
        case "Locked": .flag(isLocked(key.collection))
        case "Attributes": item?.attributes?.content ?? .texts([])
        case "Label": .text(item?.label ?? "")
        case "Type":
            .text(item?.attributes?.pairs.first { $0.name.hasSameBytes(as: "xdg:schema") }?.value ?? "")
        case "Created": .large(item?.created ?? 0)
        default: .large(item?.modified ?? 0)
        }
    }

    private func itemPaths(of id: String) -> BusContent {
        .paths((members[id] ?? []).map { ServiceName.item(ItemKey(collection: id, item: $0)) })
    }

    // MARK: Signals

    /// The number of items up to which a signal has their list. Readers of a longer one ask for it.
    private static let maxListed = 256

    func signalService(_ member: String, _ path: String) {
        bus.emit(ServiceName.root, ServiceName.service, member, [.path(path)], to: nil)
        signalProperties(
            ServiceName.root, ServiceName.service,
            [("Collections", .paths(collections.keys.sorted().map { ServiceName.collection($0) }))])
    }

    func signalCollection(_ id: String, _ member: String, _ key: ItemKey) {
        bus.emit(
            ServiceName.collection(id), ServiceName.collection, member, [.path(ServiceName.item(key))],
            to: nil)
    }

    func signalItems(of id: String) {
        guard (members[id] ?? []).count <= Self.maxListed else {
            bus.emit(
                ServiceName.collection(id), ServiceName.properties, "PropertiesChanged",
                [.text(ServiceName.collection), .properties([]), .list("s", [.text("Items")])], to: nil)
            return
        }
        signalProperties(
            ServiceName.collection(id), ServiceName.collection, [("Items", itemPaths(of: id))])
    }

    /// Tells that an item's secret, label or attributes changed.
    func signalChange(of key: ItemKey) {
        let names = ["Attributes", "Label", "Type", "Modified"]
        signalProperties(
            ServiceName.item(key), ServiceName.item,
            names.map { ($0, value(of: $0, items[key], key)) })
        signalCollection(key.collection, "ItemChanged", key)
    }

    func signalProperties(_ path: String, _ interface: String, _ changed: [(String, BusContent)]) {
        bus.emit(
            path, ServiceName.properties, "PropertiesChanged",
            [.text(interface), .properties(changed), .list("s", [])], to: nil)
    }

    /// Tells that the collections on the disk, and all their items, were locked or unlocked.
    func signalLocked() {
        for id in collections.keys.sorted() where collections[id]?.isVolatile != true {
            for item in members[id] ?? [] {
                let key = ItemKey(collection: id, item: item)
                let names = ["Locked", "Attributes", "Label", "Type"]
                signalProperties(
                    ServiceName.item(key), ServiceName.item,
                    names.map { ($0, value(of: $0, items[key], key)) })
            }
            signalProperties(
                ServiceName.collection(id), ServiceName.collection, [("Locked", .flag(isLocked(id)))])
            signalService("CollectionChanged", ServiceName.collection(id))
        }
    }

    /// Tells which collections and items other programs added, changed and removed.
    func signalDifferences(from former: [String: ServedCollection], _ formerItems: [ItemKey: ServedItem]) {
        for id in former.keys.sorted() where collections[id] == nil {
            signalService("CollectionDeleted", ServiceName.collection(id))
        }
        for id in collections.keys.sorted() where former[id] == nil {
            signalService("CollectionCreated", ServiceName.collection(id))
        }
        var changed: Set<String> = []
        for key in formerItems.keys where items[key] == nil && collections[key.collection] != nil {
            signalCollection(key.collection, "ItemDeleted", key)
            changed.insert(key.collection)
        }
        for (key, item) in items {
            guard let former = formerItems[key] else {
                signalCollection(key.collection, "ItemCreated", key)
                changed.insert(key.collection)
                continue
            }
            // A former item without attributes was locked, and its unlock is told in any case.
            guard former.attributes != nil else { continue }
            if former.modified != item.modified || !former.label.hasSameBytes(as: item.label)
                || former.pairs != item.pairs
            {
                signalChange(of: key)
            }
        }
        for id in changed.sorted() { signalItems(of: id) }
    }
}
