import CofferBase
import CofferDatabase
import Foundation
import TestSupport
import Testing

@Suite("Soups: values of one's own types")
struct SoupCodableTests {
    struct Item: Codable, Equatable, Sendable {
        struct Owner: Codable, Equatable, Sendable { var name: String }

        var key: String
        var number = Int64.max
        var unsigned = UInt64.max
        var ratio = 0.1
        var date = Date(timeIntervalSince1970: 1_800_000_000.5)
        var owner: Owner? = Owner(name: "Ada")
        var tags = ["a", "é😀"]
    }

    struct Entry: Codable, Equatable, Sendable {
        var _soupEntryId: Int64?
        var key: String
    }

    private func store() async throws -> SoupStore {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup(
            "items",
            indexSpecs: [
                IndexSpec("key", .string), IndexSpec("owner.name", .string), IndexSpec("date", .integer),
            ])
        return store
    }

    @Test("put stores values, and all returns equal ones")
    func putAndAll() async throws {
        let store = try await store()
        let items = [Item(key: "1"), Item(key: "2", number: .min, ratio: -1e-300, owner: nil, tags: [])]
        #expect(try await store.put(items[0], in: "items") == 1)
        #expect(try await store.putAll([items[1]], in: "items") == [2])
        #expect(try await store.all(Item.self, in: "items") == items)
        let owned = QuerySpec.exact("Ada", path: "owner.name")
        #expect(try await store.all(Item.self, in: "items", matching: owned) == [items[0]])
        #expect(try await store.count(.exact(1_800_000_000_500, path: "date"), in: "items") == 2)
    }

    @Test("all is not cut to a page")
    func allPages() async throws {
        let store = try await store()
        try await store.putAll((0..<33).map { Entry(key: "\($0)") }, in: "items")
        #expect(try await store.all(Entry.self, in: "items").map(\.key) == (0..<33).map(String.init))
    }

    @Test("put replaces by entry id and by external id")
    func replacing() async throws {
        let store = try await store()
        let id = try await store.put(Entry(key: "a"), in: "items")
        #expect(try await store.put(Entry(_soupEntryId: id, key: "b"), in: "items") == id)
        #expect(try await store.put(Entry(key: "b"), in: "items", externalIDPath: "key") == id)
        #expect(
            try await store.put(Entry(_soupEntryId: id, key: "c"), in: "items", externalIDPath: "key") == 2)
        #expect(try await store.entry(Entry.self, id: id, in: "items") == Entry(_soupEntryId: id, key: "b"))
        #expect(try await store.entry(Entry.self, id: 99, in: "items") == nil)
    }

    @Test("Not-a-number, and what is no object, are refused; nothing of the batch is put in")
    func refused() async throws {
        let store = try await store()
        for ratio in [Double.nan, .infinity, -.infinity] {
            let items = [Item(key: "1"), Item(key: "2", ratio: ratio)]
            do throws(CofferError) {
                try await store.putAll(items, in: "items")
                Issue.record("it was put in")
            } catch {
                #expect(error.code == .invalidInput && error.message.contains("ratio"))
            }
        }
        #expect(await code { try await store.put(5, in: "items") } == .invalidInput)
        #expect(await code { try await store.put("text", in: "items") } == .invalidInput)
        #expect(await code { try await store.put([1], in: "items") } == .invalidInput)
        #expect(await code { try await store.put(Item(key: "1"), in: "nobody") } == .absent)
        #expect(try await store.count(in: "items") == 0)
    }

    @Test("An entry of another form is an error that names the place and not the value")
    func otherForm() async throws {
        let store = try await store()
        try await store.upsert([["key": ["inner": "secret"]]], in: "items")
        do throws(CofferError) {
            _ = try await store.all(Entry.self, in: "items")
            Issue.record("it was decoded")
        } catch {
            #expect(error.code == .invalidInput)
            #expect(error.message.contains("key") && !error.message.contains("secret"))
        }
    }
}
