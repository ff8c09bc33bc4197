import CofferBase
import CofferDatabase
import CofferTesting
import GRDB
import TestSupport
import Testing

@Suite("Soups: registering and removing")
struct SoupRegistrationTests {
    @Test("registerSoup makes a soup with every kind of index", arguments: StoreKind.allCases)
    func registerSoup(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await kind.open(in: scratch)
        try await store.registerSoup("people", indexSpecs: SoupStore.peopleSpecs)
        #expect(try await store.indexSpecs(of: "people") == SoupStore.peopleSpecs)
        #expect(try await store.upsert(SoupStore.people, in: "people").count == 5)
    }

    @Test("registerSoup again with the same indexes changes nothing, with others it is an error")
    func registerSoupAgain() async throws {
        let store = try await SoupStore.people()
        try await store.registerSoup("people", indexSpecs: SoupStore.peopleSpecs.reversed())
        #expect(try await store.count(in: "people") == 5)
        for specs in [
            [IndexSpec("Name", .string)], SoupStore.peopleSpecs + [IndexSpec("More", .string)],
            [IndexSpec("Name", .integer)] + SoupStore.peopleSpecs.dropFirst(),
        ] {
            #expect(
                await code { try await store.registerSoup("people", indexSpecs: specs) } == .alreadyExists)
        }
        #expect(try await store.indexSpecs(of: "people") == SoupStore.peopleSpecs)
    }

    @Test("registerSoup refuses a soup without an index")
    func registerSoupWithoutIndex() async throws {
        let store = try await SoupStore.insecureInMemory()
        #expect(await code { try await store.registerSoup("a", indexSpecs: []) } == .invalidInput)
        #expect(try await !store.soupExists("a"))
    }

    @Test(
        "registerSoup refuses bad names",
        arguments: ["", "a\u{0}b", "a\nb", "{a", "a}", "a:b", String(repeating: "a", count: 256)])
    func registerSoupBadName(_ name: String) async throws {
        let store = try await SoupStore.insecureInMemory()
        let specs = [IndexSpec("a", .string)]
        #expect(await code { try await store.registerSoup(name, indexSpecs: specs) } == .invalidInput)
        #expect(try await !store.soupExists(name))
        #expect(await code { try await store.upsert([[:]], in: name) } == .absent)
    }

    @Test("registerSoup refuses bad paths, too many, and one that stands twice")
    func registerSoupBadPaths() async throws {
        let store = try await SoupStore.insecureInMemory()
        let bad: [[IndexSpec]] = [
            [IndexSpec("", .string)], [IndexSpec("a.", .integer)], [IndexSpec("a..b", .floating)],
            [IndexSpec("a", .string), IndexSpec("a", .string)],
            [IndexSpec("a", .string), IndexSpec("b", .string), IndexSpec("a", .integer)],
            [IndexSpec("_soup", .string)], [IndexSpec("_soupEntryId", .integer)],
            [IndexSpec("_soupLastModifiedDate", .integer)], [IndexSpec("_fullText", .fullText)],
            [IndexSpec("a\"b", .json1)], [IndexSpec(#"a\\b"#, .json1)],
            (0..<129).map { IndexSpec("p\($0)", .string) },
        ]
        for specs in bad {
            #expect(await code { try await store.registerSoup("a", indexSpecs: specs) } == .invalidInput)
        }
        #expect(try await store.soupNames().isEmpty)
        try await store.registerSoup("a", indexSpecs: (0..<128).map { IndexSpec("p\($0)", .string) })
    }

    @Test("soupExists tells names apart by case and by the bytes of their characters")
    func soupExists() async throws {
        let store = try await SoupStore.insecureInMemory()
        let specs = [IndexSpec("a", .string)]
        for name in ["Soup", "soup", "s\u{e9}", "se\u{301}", "'; --", "a\"b", " "] {
            #expect(try await !store.soupExists(name))
            try await store.registerSoup(name, indexSpecs: specs)
            #expect(try await store.soupExists(name))
        }
        #expect(try await store.soupNames().count == 7)
    }

    @Test("attributes tell what a soup is and holds")
    func attributes() async throws {
        let clock = TestClock()
        let store = try await SoupStore.insecureInMemory(clock: clock.source)
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        let empty = try await store.attributes(of: "a")
        #expect(empty.name == "a" && empty.entryCount == 0 && empty.lastModifiedDate == nil)
        #expect(empty.createdDate == 1_800_000_000_000 && !empty.isBeingAltered)
        clock.advance(by: .milliseconds(1500))
        try await store.upsert([[:], [:]], in: "a")
        let filled = try await store.attributes(of: "a")
        #expect(filled.entryCount == 2 && filled.lastModifiedDate == 1_800_000_001_500)
        #expect(await code { try await store.attributes(of: "b") } == .absent)
        #expect(await code { try await store.indexSpecs(of: "b") } == .absent)
    }

    @Test("removeSoup removes the soup with its tables, and only once", arguments: StoreKind.allCases)
    func removeSoup(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let database = try kind.database(in: scratch)
        let store = try await SoupStore.open(on: database)
        try await store.registerSoup("people", indexSpecs: SoupStore.peopleSpecs)
        try await store.upsert(SoupStore.people, in: "people")
        #expect(try await store.removeSoup("people"))
        #expect(try await !store.removeSoup("people"))
        #expect(try await !store.soupExists("people"))
        #expect(await code { try await store.retrieve([1], from: "people") } == .absent)
        let left = try await database.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE name LIKE 'coffer_soup_1%'")
        }
        #expect(left == 0)
        try await store.registerSoup("people", indexSpecs: [IndexSpec("x", .string)])
        #expect(try await store.count(in: "people") == 0)
    }

    @Test("removeAllSoups removes every soup")
    func removeAllSoups() async throws {
        let store = try await SoupStore.people()
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        #expect(try await store.removeAllSoups() == 2)
        #expect(try await store.soupNames().isEmpty)
        #expect(try await store.removeAllSoups() == 0)
    }

    @Test("clearSoup removes the entries, keeps the soup, and does not use ids again")
    func clearSoup() async throws {
        let store = try await SoupStore.people()
        #expect(try await store.clearSoup("people") == 5)
        #expect(try await store.clearSoup("people") == 0)
        #expect(try await store.count(.match("engines"), in: "people") == 0)
        let next = try await store.upsert([["Name": "Next"]], in: "people")
        #expect(next.map(\.soupEntryID) == [6])
        #expect(await code { try await store.clearSoup("nobody") } == .absent)
    }

    @Test("size counts the pages of the database and the bytes of a soup's documents")
    func size() async throws {
        let store = try await SoupStore.people()
        #expect(try await store.size() % 4096 == 0)
        #expect(try await store.size() > 4096)
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        #expect(try await store.size(of: "a") == 0)
        let stored = try await store.upsert([["a": "é"]], in: "a")
        #expect(try await store.size(of: "a") == Int64(try stored[0].jsonText().utf8.count))
        #expect(await code { try await store.size(of: "b") } == .absent)
    }

    @Test("A store from a later release is not touched")
    func laterFormat() async throws {
        let queue = try DatabaseQueue()
        _ = try await SoupStore.open(on: queue)
        try await queue.write { try $0.execute(sql: "UPDATE coffer_soup_store SET format = 2") }
        #expect(await code { try await SoupStore.open(on: queue) } == .unsupportedVersion)
    }

    @Test("A closed database is locked; a store stays in its file", arguments: StoreKind.inFiles)
    func reopening(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let database = try kind.database(in: scratch)
        let store = try await SoupStore.open(on: database)
        try await store.registerSoup("people", indexSpecs: SoupStore.peopleSpecs)
        try await store.upsert(SoupStore.people, in: "people")
        try database.close()
        #expect(await code { try await store.count(in: "people") } == .locked)
        #expect(await code { try await store.upsert([[:]], in: "people") } == .locked)
        let again = try await kind.open(in: scratch)
        #expect(try await again.count(.match("engines"), in: "people") == 2)
    }

    @Test(
        "Two stores on one pool file see each other's soups and entries",
        arguments: [StoreKind.pool, .encryptedPool])
    func twoStores(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let (one, two) = (
            try await kind.open(in: scratch), try await kind.open(in: scratch)
        )
        try await one.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        try await two.upsert([["a": "x"]], in: "a")
        #expect(try await one.names(.exact("x", path: "a"), in: "a", path: "a") == ["x"])
        try await one.alterSoup("a", indexSpecs: [IndexSpec("b", .string)])
        #expect(await code { try await two.count(.exact("x", path: "a"), in: "a") } == .invalidInput)
        try await two.removeSoup("a")
        #expect(await code { try await one.count(in: "a") } == .absent)
    }
}
