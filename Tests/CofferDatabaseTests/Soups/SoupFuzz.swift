import CofferBase
import TestSupport
import Testing

@testable import CofferDatabase

/// Takes one random step after the other, on the store and on the model.
struct SoupFuzz {
    enum Operation: String, CaseIterable {
        case upsert, upsertBatch, upsertExternal, retrieve, remove, exact, range, like, all, removeMatching,
            lookup
        case registerSoup, alterSoup, badBatch
    }

    private static let soups = ["a", "A'b", "ключ"]
    private static let specs: [[IndexSpec]] = [
        [IndexSpec("k", .string), IndexSpec("n", .integer), IndexSpec("o.p", .string)],
        [IndexSpec("n", .floating), IndexSpec("k", .string)],
        [
            IndexSpec("o.p", .string), IndexSpec("k", .string), IndexSpec("n", .integer),
            IndexSpec("w", .fullText),
        ],
    ]

    private let store: SoupStore
    private var random: SplitMix
    private var models: [String: SoupModel] = [:]
    private(set) var counts: [Operation: Int] = [:]
    private(set) var lastOperation = ""

    init(seed: UInt64, store: SoupStore) {
        self.store = store
        random = SplitMix(state: seed)
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    private mutating func scalar() -> JSONValue {
        pick([
            nil, true, false, 0, 1, 2, -3, 9_007_199_254_740_992, 0.5, -2.75, 1e10, "", "a", "A", "aa", "b%",
            "_", "é",
            "e\u{301}", "😀", "'", "\"; --", "\\", "12", "null", "[1]",
        ])
    }

    private mutating func value(_ depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth > 2 ? 6 : 10), using: &random) {
        case 0..<6: return scalar()
        case 6, 7: return .array((0..<Int.random(in: 0..<3, using: &random)).map { _ in value(depth + 1) })
        default: return .object([pick(["p", "q", ""]): value(depth + 1), "r": scalar()])
        }
    }

    private mutating func document() -> JSONValue {
        var document: JSONValue = ["x": value()]
        for key in ["k", "n", "o", "w"] where Bool.random(using: &random) { document[key] = value() }
        if Bool.random(using: &random) { document["k"] = scalar() }
        if Bool.random(using: &random) { document["n"] = pick([0, 1, 2, 3.5, -3]) }
        if Bool.random(using: &random) { document["o"] = ["p": scalar()] }
        return document
    }

    /// Reports whether store and model agree.
    mutating func step() async throws -> Bool {
        let soup = pick(Self.soups)
        guard let model = models[soup] else { return try await register(soup) }
        let operation = pick(Operation.allCases)
        counts[operation, default: 0] += 1
        lastOperation = "\(operation) \(soup)"
        switch operation {
        case .upsert, .upsertBatch: return try await upsert(soup, operation == .upsert ? 1 : 3)
        case .upsertExternal: return try await upsertExternal(soup)
        case .badBatch: return try await badBatch(soup, model)
        case .retrieve:
            let ids = (0..<3).map { _ in Int64.random(in: -1...model.lastID + 1, using: &random) }
            return try await store.retrieve(ids, from: soup) == ids.compactMap { model.entries[$0] }
        case .remove:
            let ids = Set((0..<2).map { _ in Int64.random(in: 0...model.lastID + 1, using: &random) })
            let removed = ids.filter { models[soup]?.entries.removeValue(forKey: $0) != nil }
            return try await store.remove(Array(ids), from: soup) == removed.count
        case .exact, .range, .like, .all, .removeMatching: return try await query(operation, soup, model)
        case .lookup: return try await lookup(soup, model)
        case .registerSoup:
            guard Int.random(in: 0..<4, using: &random) == 0 else {
                return try await registerAgain(soup, model)
            }
            models[soup] = nil
            return try await store.removeSoup(soup)
        case .alterSoup:
            let specs = pick(Self.specs)
            models[soup]?.specs = specs
            try await store.alterSoup(soup, indexSpecs: specs)
            return Set(try await store.indexSpecs(of: soup)) == Set(specs)
        }
    }

    private mutating func register(_ soup: String) async throws -> Bool {
        lastOperation = "register \(soup)"
        let specs = pick(Self.specs)
        models[soup] = SoupModel(specs: specs)
        let isNew = try await !store.soupExists(soup)
        try await store.registerSoup(soup, indexSpecs: specs)
        return isNew
    }

    private mutating func registerAgain(_ soup: String, _ model: SoupModel) async throws -> Bool {
        let specs = pick(Self.specs)
        let (store, isSame) = (store, Set(specs) == Set(model.specs))
        let code = await code { try await store.registerSoup(soup, indexSpecs: specs) }
        return code == (isSame ? nil : .alreadyExists)
    }

    private mutating func upsert(_ soup: String, _ count: Int) async throws -> Bool {
        var documents: [JSONValue] = []
        for _ in 0..<count {
            var document = document()
            let last = models[soup]?.lastID ?? 0
            if Bool.random(using: &random) {
                document["_soupEntryId"] = .integer(.random(in: 0...last + 1, using: &random))
            }
            documents.append(document)
        }
        let ids = documents.compactMap { models[soup]?.upsert($0, known: $0.soupEntryID) }
        let stored = try await store.upsert(documents, in: soup)
        // Two documents may name one entry: then the later one is there.
        return stored.map(\.soupEntryID) == ids
            && stored.last == ids.last.flatMap { models[soup]?.entries[$0] }
    }

    private mutating func upsertExternal(_ soup: String) async throws -> Bool {
        let document = document()
        guard let model = models[soup] else { return false }
        let key = try model.key(document, "k")
        let same = try model.ids(orderedBy: nil, descending: false) { try model.key($0, "k") == key }
        let store = store
        guard key != .nothing, key != .text([]), same.count < 2 else {
            let code = await code { try await store.upsert([document], in: soup, externalIDPath: "k") }
            return code == (key == .nothing || key == .text([]) ? .invalidInput : .ambiguous)
        }
        let id = models[soup]?.upsert(document, known: same.first)
        let stored = try await store.upsert([document], in: soup, externalIDPath: "k")
        return stored.map(\.soupEntryID) == [id] && stored.first == id.flatMap { models[soup]?.entries[$0] }
    }

    private mutating func badBatch(_ soup: String, _ model: SoupModel) async throws -> Bool {
        let batch = [document(), pick(["text", 5, nil, ["x": .number(.nan)]] as [JSONValue]), document()]
        let store = store
        let code = await code { try await store.upsert(batch, in: soup) }
        let count = try await store.count(in: soup)
        return code == .invalidInput && count == model.entries.count
    }

    private mutating func query(
        _ operation: Operation, _ soup: String, _ model: SoupModel
    ) async throws -> Bool {
        let paths = model.specs.filter { $0.kind != .fullText }.map(\.path)
        let path = pick(paths)
        let isText = model.kind(path) == .string
        let order = pick(QuerySpec.Order.allCases)
        let (spec, isFound) = try condition(operation, path, isText, order, model)
        let ordered = operation == .exact || operation == .removeMatching ? nil : path
        let ids = try model.ids(orderedBy: ordered, descending: order == .descending, where: isFound)
        if operation == .removeMatching {
            for id in ids { models[soup]?.entries[id] = nil }
            return try await store.remove(matching: spec, from: soup) == ids.count
        }
        var found: [JSONValue] = []
        let cursor = try await store.query(spec, in: soup)
        repeat { found += await cursor.currentPage } while try await cursor.moveToNextPage()
        let count = try await store.count(spec, in: soup)
        return found == ids.compactMap { model.entries[$0] } && count == ids.count
    }

    private mutating func condition(
        _ operation: Operation, _ path: String, _ isText: Bool, _ order: QuerySpec.Order, _ model: SoupModel
    ) throws -> (QuerySpec, (JSONValue) throws -> Bool) {
        let numbers: [JSONValue] = [0, 1, 2, -3, 0.5, 3]
        let key = isText ? scalar() : pick(numbers)
        func compared(_ key: JSONValue) throws -> SoupModel.Key {
            if !isText { return .number(key.double ?? 0) }
            return key == .null ? .nothing : .text(Array(try (key.string ?? key.jsonText()).utf8))
        }
        let wanted = try compared(key)
        switch operation {
        case .all: return (.all(orderPath: path, order: order, pageSize: 7), { _ in true })
        case .range:
            let end = isText ? scalar() : pick(numbers)
            let last = try compared(end)
            let spec = QuerySpec.range(from: key, to: end, path: path, order: order, pageSize: 3)
            return (
                spec,
                { document in
                    let value = try model.key(document, path)
                    let isBounded = wanted != .nothing || last != .nothing
                    return (value != .nothing || !isBounded) && (wanted == .nothing || value >= wanted)
                        && (last == .nothing || value <= last)
                }
            )
        case .like:
            let text = key.string ?? "a"
            let spec = QuerySpec.like(
                "%\(QuerySpec.literal(text))%", path: "k", orderPath: path, order: order)
            return (
                spec,
                { document in
                    guard case .text(let value) = try model.key(document, "k") else { return false }
                    return Self.folded(value).contains(Self.folded(Array(text.utf8)))
                }
            )
        default:
            return (
                .exact(key, path: path, order: order, pageSize: 50), { try model.key($0, path) == wanted }
            )
        }
    }

    /// ASCII letters in one case, as LIKE compares; whole bytes, as parts of characters do not match.
    private static func folded(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    private mutating func lookup(_ soup: String, _ model: SoupModel) async throws -> Bool {
        let key = pick(["a", "é", "e\u{301}", "'", "12"])
        let ids = try model.ids(orderedBy: nil, descending: false) {
            try model.key($0, "k") == .text(Array(key.utf8))
        }
        let store = store
        if ids.count > 1 {
            return await code { try await store.lookupEntryID(in: soup, path: "k", value: .string(key)) }
                == .ambiguous
        }
        return try await store.lookupEntryID(in: soup, path: "k", value: .string(key)) == ids.first
    }
}
