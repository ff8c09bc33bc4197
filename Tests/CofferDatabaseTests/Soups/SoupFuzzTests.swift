import CofferBase
import CofferTesting
import TestSupport
import Testing

@testable import CofferDatabase

/// Random operations on a store and on a model of it, which must stay equal.
@Suite("Soups against a model")
struct SoupFuzzTests {
    @Test("10 000 operations have the same results as the model", arguments: [20_261_121, 7] as [UInt64])
    func operations(_ seed: UInt64) async throws {
        let store = try await SoupStore.insecureInMemory(clock: TestClock().source)
        var fuzz = SoupFuzz(seed: seed, store: store)
        for step in 0..<5000 {
            guard try await fuzz.step() else {
                Issue.record("seed \(seed), step \(step): \(fuzz.lastOperation)")
                return
            }
        }
        #expect(fuzz.counts.count == SoupFuzz.Operation.allCases.count)
        #expect(fuzz.counts.values.allSatisfy { $0 > 50 }, "\(fuzz.counts)")
    }
}

/// A generator whose numbers depend on its seed alone.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A model of a soup, without SQL.
struct SoupModel {
    var specs: [IndexSpec]
    var entries: [Int64: JSONValue] = [:]
    var lastID: Int64 = 0

    /// A value as indexes compare it: nothing, then numbers, then text by its bytes.
    enum Key: Comparable {
        case nothing
        case number(Double)
        case text([UInt8])

        static func < (one: Key, other: Key) -> Bool {
            switch (one, other) {
            case (.number(let one), .number(let other)): one < other
            case (.text(let one), .text(let other)): one.lexicographicallyPrecedes(other)
            case (.nothing, .number), (.nothing, .text), (.number, .text): true
            default: false
            }
        }
    }

    func kind(_ path: String) -> IndexSpec.Kind? { specs.first { $0.path == path }?.kind }

    func key(_ document: JSONValue, _ path: String) throws -> Key {
        let components = path.split(separator: ".").map(String.init)
        guard let value = Self.project(document, components[...]), value != .null else { return .nothing }
        switch (kind(path), value) {
        case (.string, .string(let text)): return .text(Array(text.utf8))
        case (.string, _): return .text(Array(try value.jsonText().utf8))
        case (_, .bool(let truth)): return .number(truth ? 1 : 0)
        case (_, .integer(let number)): return .number(Double(number))
        case (.integer, .number(let number)): return .number(number.rounded(.towardZero))
        case (_, .number(let number)): return .number(number)
        default: return .nothing
        }
    }

    private static func project(_ value: JSONValue, _ path: ArraySlice<String>) -> JSONValue? {
        guard let key = path.first else { return value }
        if let array = value.array {
            let found = array.compactMap { project($0, path) }.filter { $0 != .null }
            return found.isEmpty ? nil : .array(found)
        }
        return value[key].flatMap { project($0, path.dropFirst()) }
    }

    /// The ids of the entries that `isFound` accepts, by the value at `path`.
    func ids(
        orderedBy path: String?, descending: Bool, where isFound: (JSONValue) throws -> Bool
    ) throws -> [Int64] {
        var found: [(key: Key, id: Int64)] = []
        for (id, document) in entries where try isFound(document) {
            found.append((try path.map { try key(document, $0) } ?? .nothing, id))
        }
        let ascending = found.sorted { $0.key == $1.key ? $0.id < $1.id : $0.key < $1.key }.map(\.id)
        return descending ? ascending.reversed() : ascending
    }

    mutating func upsert(_ document: JSONValue, known: Int64?) -> Int64 {
        var id = known ?? 0
        if known.map({ entries[$0] == nil }) ?? true {
            lastID += 1
            id = lastID
        }
        var document = document
        for field in ["_soupCreatedDate", "_soupLastModifiedDate"] { document[field] = 1_800_000_000_000 }
        document["_soupEntryId"] = .integer(id)
        entries[id] = document
        return id
    }
}
