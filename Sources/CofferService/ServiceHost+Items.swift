import Coffer
import CofferBase
import CofferDBus
import CofferEngine
import FoundationEssentials

/// Items and their secrets.
extension ServiceHost {
    /// The most items of the collection in memory: each secret takes guarded pages.
    private static let maxVolatileItems = 256

    func callItem(_ key: ItemKey, _ call: ServedCall) async throws(ServiceError) -> [BusContent] {
        switch call.member {
        case "GetSecret":
            let path = call.arguments[0].path ?? ""
            let transport = try sessions.transport(session(path), owner: call.sender)
            guard !isLocked(key.collection) else { throw .isLocked }
            guard let token = try await token(of: key) else { throw .noSuchObject }
            let type = items[key]?.contentType ?? "text/plain"
            return [try SecretWire.write(token, type: type, session: path, transport)]
        case "SetSecret":
            let (token, type) = try received(call.arguments[0], from: call.sender)
            try await change(key, to: token) { $0.contentType = type }
            signalChange(of: key)
            return []
        case "Delete":
            if isLocked(key.collection), await !unlockSilently() {
                return [.path(try addPrompt(.deleteItem(key), for: call.sender))]
            }
            try await deleteItem(key)
            return [.path(ServiceName.none)]
        default: throw .unknownMethod
        }
    }

    func createItem(in collection: String, _ call: ServedCall) async throws(ServiceError) -> [BusContent] {
        let properties = Properties(call.arguments[0])
        let prefix = ServiceName.item
        let attributes: ItemAttributes =
            if let given = properties.value(prefix + ".Attributes") { try ItemAttributes(given) } else {
                ItemAttributes()
            }
        let label = properties.text(prefix + ".Label") ?? ""
        try checkLabel(label)
        let (token, type) = try received(call.arguments[1], from: call.sender)
        let pairs = try hashes(of: attributes)
        let isReplacing = call.arguments[2].flag ?? false
        let present = isReplacing ? try itemToReplace(in: collection, attributes, pairs) : nil
        let key = if let present { present.key } else { try newKey(in: collection) }
        var item =
            present
            ?? ServedItem(key: key, pairs: pairs, created: Self.now, modified: Self.now)
        item.label = label
        item.attributes = attributes
        item.pairs = pairs
        item.contentType = type
        try await store(&item, token)
        if present == nil {
            signalCollection(collection, "ItemCreated", key)
            signalItems(of: collection)
        } else {
            signalChange(of: key)
        }
        return [.path(ServiceName.item(key)), .path(ServiceName.none)]
    }

    /// Returns the item with exactly these attributes, the oldest if there are several.
    private func itemToReplace(
        in collection: String, _ attributes: ItemAttributes, _ pairs: Set<PairHash>
    ) throws(ServiceError) -> ServedItem? {
        try search(attributes, in: collection).compactMap { items[$0] }.first { item in
            item.attributes.map { $0.isSame(as: attributes) } ?? (item.pairs == pairs)
        }
    }

    private func newKey(in collection: String) throws(ServiceError) -> ItemKey {
        guard
            collections[collection]?.isVolatile != true
                || (members[collection] ?? []).count < Self.maxVolatileItems
        else { throw .limit("The session collection has too many items.") }
        do throws(CofferError) {
            return ItemKey(collection: collection, item: "i" + HexText.encode(try SecureRandom.bytes(12)))
        } catch {
            throw ServiceError(error)
        }
    }

    /// Returns a received secret and its content type.
    private func received(
        _ content: BusContent, from owner: String
    ) throws(ServiceError) -> (token: Token, type: String) {
        let parts = try SecretWire.Parts(content)
        let transport = try sessions.transport(session(parts.session), owner: owner)
        guard parts.type.utf8.count <= 256 else { throw .invalid("The content type is too long.") }
        return (try parts.token(transport), parts.type.isEmpty ? "text/plain" : parts.type)
    }

    // MARK: The vault

    /// Returns an item's secret; `nil` if another program removed it.
    func token(of key: ItemKey) async throws(ServiceError) -> Token? {
        if let secret = items[key]?.secret { return secret }
        do throws(CofferError) {
            let stored = try await vault.tokens.get(ItemCoding.id(key))
            if stored == nil { forgetItem(key) }
            // Only the administrator's policy makes items expire.
            guard stored?.info.isExpired(at: Date()) != true else {
                throw CofferError(
                    .refused, "The secret is older than the administrator's policy allows. Store it again.")
            }
            return stored?.token
        } catch {
            throw ServiceError(error)
        }
    }

    /// Stores an item with its secret, and then puts it among the items. While the vault is locked, the
    /// secret waits in the vault's inbox until the unlock.
    func store(_ item: inout ServedItem, _ token: Token) async throws(ServiceError) {
        item.modified = Self.now
        if collections[item.key.collection]?.isVolatile == true {
            item.secret = token
            insert(item)
            return
        }
        do throws(CofferError) {
            try await write(item, token)
        } catch {
            throw ServiceError(error)
        }
        await show(&item)
    }

    private func write(
        _ item: ServedItem, _ token: Token, _ precondition: Precondition = .any
    ) async throws(CofferError) {
        let id = try ItemCoding.id(item.key)
        let result = try await vault.tokens.put(
            token, for: id, attributes: ItemCoding.encode(item), precondition: precondition)
        if let version = result.version { try await verify(token, id, version) }
        await noteOwnChange()
    }

    /// Puts an item that is in the vault among the items.
    private func show(_ item: inout ServedItem) async {
        // A program that is told of a stored item while the vault is locked finds it after a restart, too.
        let isPending = !isUnlocked
        if isPending { item.attributes = nil }
        insert(item)
        markStale()
        if isPending { await writeIndex() }
    }

    /// Reads a stored secret back. The storage replaces a value only as a whole, so a failure leaves the old
    /// value or the new one.
    private func verify(_ token: Token, _ id: TokenID, _ version: UInt64) async throws(CofferError) {
        let stored = try await vault.tokens.get(id)
        // What another program stored in its place since then is newer.
        if let newest = stored?.info.version, newest > version { return }
        guard let stored, try token.guardedCopy().isEqual(to: stored.token.guardedCopy()) else {
            throw CofferError(
                .conflict, "Another program changed the item at the same time. Store the secret again.")
        }
    }

    func deleteItem(_ key: ItemKey) async throws(ServiceError) {
        if collections[key.collection]?.isVolatile != true {
            do throws(CofferError) {
                _ = try await vault.tokens.remove(ItemCoding.id(key))
                await noteOwnChange()
            } catch {
                throw ServiceError(error)
            }
        }
        forgetItem(key)
    }

    /// Removes the items of a collection on the disk in one change, so that other callers do not wait.
    func deleteItems(_ keys: [ItemKey]) async throws(ServiceError) {
        do throws(CofferError) {
            try await vault.tokens.remove(keys.map { (key) throws(CofferError) in try ItemCoding.id(key) })
            await noteOwnChange()
        } catch {
            throw ServiceError(error)
        }
        for key in keys {
            guard let item = items.removeValue(forKey: key) else { continue }
            unindex(item)
            signalCollection(key.collection, "ItemDeleted", key)
        }
        if let collection = keys.first?.collection { members[collection] = [] }
        markStale()
    }

    /// Changes an item, and keeps what it does not change: its secret unless there is a new one, and its
    /// description, also if another program changes that at the same time.
    ///
    /// A locked item is not changed. Its description cannot be read, so it would be lost, and without its
    /// attributes no program finds the item again.
    func change(
        _ key: ItemKey, to new: Token? = nil, _ body: (inout ServedItem) -> Void
    ) async throws(ServiceError) {
        guard !isLocked(key.collection) else { throw .isLocked }
        guard var item = items[key] else { throw .noSuchObject }
        if collections[key.collection]?.isVolatile == true {
            guard let secret = new ?? item.secret else { throw .noSuchObject }
            body(&item)
            item.pairs = try hashes(of: item.attributes ?? ItemAttributes())
            return try await store(&item, secret)
        }
        for attempt in 1...Self.maxAttempts {
            let (token, info) = try await present(key, new)
            do throws(CofferError) {
                item = try ItemCoding.item(key, info, hasher)
                body(&item)
                item.pairs = try ItemCoding.pairs(of: item.attributes, hasher)
                item.modified = Self.now
                try await write(item, token, info.version.map { Precondition.version($0) } ?? .any)
                return await show(&item)
            } catch {
                guard error.code == .conflict, attempt < Self.maxAttempts else { throw ServiceError(error) }
            }
        }
    }

    /// How often a change is tried while other programs change the same item.
    private static let maxAttempts = 16

    /// Returns the stored item's description, and its secret unless there is a new one.
    private func present(_ key: ItemKey, _ new: Token?) async throws(ServiceError) -> (Token, TokenInfo) {
        // An old secret that the administrator's policy keeps back can still be replaced.
        if new == nil, try await token(of: key) == nil { throw .noSuchObject }
        var found: (Token, TokenInfo)?
        do throws(CofferError) {
            let id = try ItemCoding.id(key)
            if let new {
                found = try await vault.tokens.info(for: id).map { (new, $0) }
            } else {
                found = try await vault.tokens.get(id).map { ($0.token, $0.info) }
            }
        } catch {
            throw ServiceError(error)
        }
        guard let found else {
            forgetItem(key)
            throw .noSuchObject
        }
        return found
    }

    // MARK: The table

    func insert(_ item: ServedItem) {
        if let old = items[item.key] {
            unindex(old)
        } else {
            members[item.key.collection, default: []].append(item.key.item)
        }
        items[item.key] = item
        for pair in item.pairs { index[pair, default: []].insert(item.key) }
    }

    /// Removes an item from the table and tells so.
    func forgetItem(_ key: ItemKey) {
        guard let item = items.removeValue(forKey: key) else { return }
        unindex(item)
        members[key.collection]?.removeAll { $0.hasSameBytes(as: key.item) }
        markStale()
        signalCollection(key.collection, "ItemDeleted", key)
        signalItems(of: key.collection)
    }

    private func unindex(_ item: ServedItem) {
        for pair in item.pairs {
            index[pair]?.remove(item.key)
            if index[pair]?.isEmpty == true { index[pair] = nil }
        }
    }
}
