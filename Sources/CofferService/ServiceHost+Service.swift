import Coffer
import CofferBase
import CofferDBus

/// The methods of `org.freedesktop.Secret.Service`.
extension ServiceHost {
    func callService(_ call: ServedCall) async throws(ServiceError) -> [BusContent] {
        let arguments = call.arguments
        switch call.member {
        case "OpenSession":
            let opened = try sessions.open(
                arguments[0].text ?? "", arguments[1].content, owner: call.sender)
            return [.variant(opened.output), .path(ServiceName.session(opened.number))]
        case "CreateCollection":
            return try await createCollection(arguments, for: call.sender)
        case "SearchItems":
            let found = try search(ItemAttributes(arguments[0]))
            let open = found.filter { !isLocked($0.collection) }
            let locked = found.filter { isLocked($0.collection) }
            return [.paths(open.map(ServiceName.item)), .paths(locked.map(ServiceName.item))]
        case "Unlock": return try await unlock(arguments[0].paths ?? [], for: call.sender)
        case "Lock": return await lock(arguments[0].paths ?? [])
        case "GetSecrets":
            return try await secrets(
                of: arguments[0].paths ?? [], session: arguments[1].path ?? "", for: call.sender)
        case "ReadAlias":
            let name = arguments[0].text ?? ""
            let id = ServiceName.isElement(name) ? aliases[name] : nil
            return [.path(id.map { ServiceName.collection($0) } ?? ServiceName.none)]
        case "SetAlias":
            try await setAlias(arguments[0].text ?? "", to: arguments[1].path ?? "")
            return []
        default: throw .unknownMethod
        }
    }

    // MARK: Locking

    /// Whether a collection's items are locked.
    func isLocked(_ id: String) -> Bool { !isUnlocked && collections[id]?.isVolatile != true }

    /// Returns the collection that an object is or belongs to; `nil` for every other path.
    func collection(at path: String) -> String? {
        switch ServedObject(path, aliases: aliases) {
        case .collection(let id) where collections[id] != nil: id
        case .item(let key) where items[key] != nil: key.collection
        default: nil
        }
    }

    private func unlock(_ paths: [String], for owner: String) async throws(ServiceError) -> [BusContent] {
        let known = paths.filter { collection(at: $0) != nil }
        let closed = known.filter { path in collection(at: path).map { isLocked($0) } ?? false }
        if !closed.isEmpty, await !unlockSilently() {
            let open = known.filter { path in collection(at: path).map { !isLocked($0) } ?? false }
            return [.paths(open), .path(try addPrompt(.unlock(closed), for: owner))]
        }
        return [.paths(known), .path(ServiceName.none)]
    }

    /// Locks the vault if any of the objects is on the disk: the keys of the collections are the vault's.
    private func lock(_ paths: [String]) async -> [BusContent] {
        let known = paths.filter { path in
            collection(at: path).map { collections[$0]?.isVolatile != true } ?? false
        }
        if !known.isEmpty {
            vault.lock()
            await noteLock()
        }
        return [.paths(known), .path(ServiceName.none)]
    }

    // MARK: Secrets

    /// Returns the number in a session's path.
    func session(_ path: String) throws(ServiceError) -> Int {
        guard case .session(let number) = ServedObject(path, aliases: [:]) else { throw .noSession }
        return number
    }

    private func secrets(
        of paths: [String], session path: String, for owner: String
    ) async throws(ServiceError) -> [BusContent] {
        let transport = try sessions.transport(session(path), owner: owner)
        var found: [BusContent] = []
        var size = 0
        var seen: Set<String> = []
        // An answer has each path once, however often a call names it.
        for item in paths where seen.insert(item).inserted {
            guard case .item(let key) = ServedObject(item, aliases: aliases), items[key] != nil,
                !isLocked(key.collection), let token = try await token(of: key)
            else { continue }
            size += token.count
            guard size <= ServingLimit.answerBytes / 2 else {
                throw .limit("The secrets would be too large for one answer. Ask for fewer items.")
            }
            let type = items[key]?.contentType ?? "text/plain"
            let secret = try SecretWire.write(token, type: type, session: path, transport)
            found.append(.entry(.path(item), secret))
        }
        return [.list("{o(oayays)}", found)]
    }

    // MARK: Searching

    /// Returns the items with all of these attributes, in order of creation within each collection.
    func search(_ query: ItemAttributes, in collection: String? = nil) throws(ServiceError) -> [ItemKey] {
        let found = try matches(query)
        let ids = collection.map { [$0] } ?? collections.keys.sorted()
        guard let found else {
            return ids.flatMap { id in (members[id] ?? []).map { ItemKey(collection: id, item: $0) } }
        }
        let wanted = found.filter { ids.contains($0.collection) }
        return wanted.sorted { left, right in
            let (a, b) = (items[left]?.created ?? 0, items[right]?.created ?? 0)
            return a == b ? left.item < right.item : a < b
        }
    }

    /// Returns the items with all of these attributes; `nil` if the query has none.
    private func matches(_ query: ItemAttributes) throws(ServiceError) -> Set<ItemKey>? {
        guard !query.pairs.isEmpty else { return nil }
        var sets: [Set<ItemKey>] = []
        for hash in try hashes(of: query) {
            guard let set = index[hash] else { return [] }
            sets.append(set)
        }
        sets.sort { $0.count < $1.count }
        return sets.dropFirst().reduce(sets[0]) { $0.intersection($1) }.filter { key in
            // A hash that matches by chance is not a match where the attributes are known.
            items[key]?.attributes?.contain(query) ?? true
        }
    }

    func hashes(of attributes: ItemAttributes) throws(ServiceError) -> Set<PairHash> {
        do throws(CofferError) {
            var hashes: Set<PairHash> = []
            for (name, value) in attributes.pairs { hashes.insert(try PairHash(name, value, hasher)) }
            return hashes
        } catch {
            throw ServiceError(error)
        }
    }
}
