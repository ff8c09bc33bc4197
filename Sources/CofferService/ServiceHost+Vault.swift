import Coffer
import CofferBase
import CofferEngine
import CofferVault

/// The effects of the vault's state on the objects: locks, unlocks, other programs' changes and the index.
extension ServiceHost {
    /// Notices whether the vault was locked, unlocked or wiped since the last call.
    func noteVault() async {
        guard !isWiped else { return }
        // A lock by another program holds from the moment at which that program reports it.
        if isUnlocked { vault.noticeLock() }
        if !isUnlocked {
            // The vault may have only the keys that another program's unlock had stored at the last look.
            let now = Clock.sinceBoot
            if now - lastRestore >= .milliseconds(200) {
                lastRestore = now
                await restoreKeys()
            }
            if vault.isUnlocked { await noteUnlock() }
        } else if !vault.isUnlocked {
            await noteLock()
        }
    }

    private func restoreKeys() async {
        do throws(CofferError) {
            _ = try await vault.restoreCachedKeys()
        } catch {
            noteFailure(error)
        }
    }

    /// Unlocks the vault with keys that another program cached, or without a passcode if it has none.
    func unlockSilently() async -> Bool {
        if isUnlocked { return true }
        do throws(CofferError) {
            if try await !vault.restoreCachedKeys() { try await vault.unlock() }
        } catch {
            noteFailure(error)
        }
        if vault.isUnlocked { await noteUnlock() }
        return isUnlocked
    }

    private func noteFailure(_ error: CofferError) {
        if error.code == .wiped { noteWipe() }
    }

    private func noteUnlock() async {
        guard !isUnlocked else { return }
        do throws(CofferError) {
            try await load()
        } catch {
            if error.code != .locked { tell(error.message) }
            return noteFailure(error)
        }
        isUnlocked = true
        signalLocked()
        await completeUnlocked()
    }

    /// Forgets what a locked vault does not show, and writes the index, by which a search then finds items.
    func noteLock() async {
        guard isUnlocked else { return }
        isUnlocked = false
        for key in items.keys where collections[key.collection]?.isVolatile != true {
            items[key]?.attributes = nil
            items[key]?.label = ""
        }
        signalLocked()
        if staleSince != nil { await writeIndex() }
    }

    /// Removes every object: nothing is left of the vault.
    private func noteWipe() {
        isWiped = true
        isUnlocked = false
        for id in collections.keys.sorted() { signalService("CollectionDeleted", ServiceName.collection(id)) }
        (collections, aliases, items, members, index) = ([:], [:], [:], [:], [:])
        staleSince = nil
        for number in prompts.keys { complete(number, nil) }
    }

    /// Notices tokens that another program added, changed or removed, and a wipe by another program.
    func noteOthersChanges() async {
        guard !isWiped else { return }
        do throws(CofferError) {
            let generation = try await vault.tokenGeneration()
            guard isUnlocked, generation != knownGeneration else { return }
            try await load()
        } catch {
            noteFailure(error)
        }
    }

    /// Notes that this service changed the tokens. If they changed more than once, another program changed
    /// them, too, and the next look finds that.
    func noteOwnChange() async {
        let generation = try? await vault.tokenGeneration()
        if let known = knownGeneration, generation == known + 1 { knownGeneration = generation }
    }

    // MARK: Reading

    /// Reads everything from the unlocked vault. Objects that callers know already keep their paths.
    func load() async throws(CofferError) {
        // First, so that a change during the reading is found by the next look.
        let generation = try await vault.tokenGeneration()
        let record = try await CollectionRecord.read(from: vault)
        let listing = try await vault.tokens.listing()
        var found: [ServedItem] = []
        for info in listing.tokens {
            guard let key = ItemCoding.key(of: info.id) else { continue }
            found.append(try ItemCoding.item(key, info, hasher))
        }
        replace(record, with: found)
        knownGeneration = generation
        markStale()
    }

    /// Puts items in place of the present ones, except those that are kept only in memory.
    private func replace(_ record: CollectionRecord, with found: [ServedItem]) {
        let isFirst = collections.isEmpty
        let former = (collections: collections, items: items)
        let volatile = items.values.filter { collections[$0.key.collection]?.isVolatile == true }
        collections = record.collections
        aliases = record.aliases
        addVolatileCollection(former.collections[Self.volatileCollection])
        (items, index) = ([:], [:])
        for item in found where collections[item.key.collection] == nil {
            // The record is older than the item, or lost: the item stays reachable.
            let id = item.key.collection
            collections[id] = ServedCollection(
                id: id, label: id, created: item.created, modified: item.modified)
        }
        members = collections.mapValues { _ in [] }
        for item in (found + volatile).sorted(by: Self.isOlder) { insert(item) }
        if !isFirst { signalDifferences(from: former.collections, former.items) }
    }

    private static func isOlder(_ left: ServedItem, _ right: ServedItem) -> Bool {
        left.created == right.created ? left.key.item < right.key.item : left.created < right.created
    }

    private func addVolatileCollection(_ present: ServedCollection?) {
        let id = Self.volatileCollection
        collections[id] =
            present
            ?? ServedCollection(
                id: id, label: "Session", created: Self.now, modified: Self.now, isVolatile: true)
        aliases[id] = id
    }

    // MARK: The index

    func markStale() { if staleSince == nil { staleSince = Clock.sinceBoot } }

    /// Writes the index. A failure is told once; the next change tries again.
    func writeIndex() async {
        staleSince = nil
        var writer = BinaryWriter()
        CollectionRecord(collections, aliases).encode(to: &writer)
        let kept = items.values.filter { collections[$0.key.collection]?.isVolatile != true }
        writer.append(UInt32(kept.count))
        for item in kept {
            writer.appendText(item.key.collection)
            writer.appendText(item.key.item)
            writer.append(item.created)
            writer.append(item.modified)
            writer.append(UInt16(item.pairs.count))
            for pair in item.pairs {
                writer.append(pair.first)
                writer.append(pair.second)
            }
        }
        do throws(CofferError) {
            try await vault.writeServedIndex(writer.bytes)
        } catch {
            if error.code == .wiped { return noteWipe() }
            tell("While the vault is locked, searches may miss items: \(error.message)")
        }
    }

    /// Reads as much from the index as a locked vault shows. Without one, there are only the standard
    /// collections.
    func loadIndex() async throws(CofferError) {
        let bytes = try await vault.servedIndex()
        let read = bytes.flatMap { try? Self.readIndex($0) }
        replace(read?.record ?? .standard, with: read?.items ?? [])
    }

    private static func readIndex(
        _ bytes: [UInt8]
    ) throws(CofferError) -> (record: CollectionRecord, items: [ServedItem]) {
        var reader = BinaryReader(bytes, name: "index of the Secret Service's items")
        let record = try CollectionRecord(&reader)
        var items: [ServedItem] = []
        for _ in 0..<(try reader.number(UInt32.self)) {
            let collection = try reader.text()
            let key = ItemKey(collection: collection, item: try reader.text())
            let created = try reader.number(UInt64.self)
            let modified = try reader.number(UInt64.self)
            guard ServiceName.isElement(key.collection), ServiceName.isElement(key.item) else {
                throw reader.corruptError
            }
            var pairs: Set<PairHash> = []
            for _ in 0..<(try reader.number(UInt16.self)) {
                let first = try reader.number(UInt64.self)
                pairs.insert(PairHash(first: first, second: try reader.number()))
            }
            items.append(ServedItem(key: key, pairs: pairs, created: created, modified: modified))
        }
        return (record, items)
    }
}
