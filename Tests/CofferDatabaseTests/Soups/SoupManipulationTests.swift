import CofferBase
import CofferDatabase
import CofferTesting
import TestSupport
import Testing

@Suite("Soups: putting in, getting by id, removing")
struct SoupManipulationTests {
    private let specs = [IndexSpec("id", .string), IndexSpec("n", .integer), IndexSpec("j", .json1)]

    private func store(_ clock: TestClock = TestClock()) async throws -> SoupStore {
        let store = try await SoupStore.insecureInMemory(clock: clock.source)
        try await store.registerSoup("a", indexSpecs: specs)
        return store
    }

    @Test("upsert inserts what has no id or one that matches nothing, and overwrites the id")
    func upsertInserts() async throws {
        let store = try await store()
        let stored = try await store.upsert(
            [
                ["id": "x"], ["_soupEntryId": 99], ["_soupEntryId": "1"], ["_soupEntryId": nil],
                ["_soupEntryId": -1, "_soupCreatedDate": 5, "_soupLastModifiedDate": "never"],
            ], in: "a")
        #expect(stored.map(\.soupEntryID) == [1, 2, 3, 4, 5])
        for document in stored {
            #expect(document.soupCreatedDate == 1_800_000_000_000)
            #expect(document.soupLastModifiedDate == 1_800_000_000_000)
        }
        #expect(try await store.retrieve([1, 2, 3, 4, 5], from: "a") == stored)
        #expect(stored[0]["id"] == "x")
    }

    @Test("upsert replaces the entry that the id names, and keeps when it was created")
    func upsertReplaces() async throws {
        let clock = TestClock()
        let store = try await store(clock)
        var document = try await store.upsert([["id": "x", "n": 1]], in: "a")[0]
        clock.advance(by: .seconds(2))
        document["n"] = 2
        document["_soupCreatedDate"] = 7
        let replaced = try await store.upsert([document], in: "a")[0]
        #expect(replaced["n"] == 2 && replaced.soupEntryID == 1)
        #expect(replaced.soupCreatedDate == 1_800_000_000_000)
        #expect(replaced.soupLastModifiedDate == 1_800_000_002_000)
        #expect(try await store.count(in: "a") == 1)
        #expect(try await store.count(.exact(1, path: "n"), in: "a") == 0)
        #expect(try await store.count(.exact(2, path: "n"), in: "a") == 1)
    }

    @Test("upsert is atomic: after any bad document, nothing of the batch is there")
    func upsertIsAtomic() async throws {
        let store = try await store()
        try await store.upsert([["id": "old", "n": 1]], in: "a")
        let before = try await store.retrieve([1], from: "a")
        let bad: [JSONValue] = [
            "text", 5, nil, [1], ["x": .number(.nan)], ["x": .bigInteger("no")],
            (0..<500).reduce(["x": 1]) { inner, _ in ["x": inner] },
        ]
        for document in bad {
            let batch: [JSONValue] = [["id": "new"], ["_soupEntryId": 1, "n": 2], document, ["id": "more"]]
            #expect(await code { try await store.upsert(batch, in: "a") } == .invalidInput)
            #expect(try await store.count(in: "a") == 1)
            #expect(try await store.retrieve([1], from: "a") == before)
        }
        #expect(try await store.upsert([["id": "y"]], in: "a")[0].soupEntryID == 2)
        #expect(await code { try await store.upsert([[:]], in: "b") } == .absent)
        #expect(try await store.upsert([], in: "a").isEmpty)
    }

    @Test("upsert with one id twice in a batch keeps the later document")
    func upsertTwice() async throws {
        let store = try await store()
        try await store.upsert([["id": "x"]], in: "a")
        let stored = try await store.upsert(
            [["_soupEntryId": 1, "n": 1], ["_soupEntryId": 1, "n": 2]], in: "a")
        #expect(stored.map(\.soupEntryID) == [1, 1])
        #expect(try await store.retrieve([1], from: "a")[0]["n"] == 2)
    }

    @Test(
        "upsert with external id: none inserts, one replaces, several is an error",
        arguments: ["id", "n", "j"])
    func upsertWithExternalID(_ path: String) async throws {
        let store = try await store()
        func document(_ text: String) -> JSONValue { ["id": "k", "n": 5, "j": "k", "text": .string(text)] }
        let first = try await store.upsert([document("1")], in: "a", externalIDPath: path)[0]
        var second = document("2")
        second["_soupEntryId"] = 77
        let replaced = try await store.upsert([second], in: "a", externalIDPath: path)[0]
        #expect(replaced.soupEntryID == first.soupEntryID && replaced["text"] == "2")
        #expect(try await store.count(in: "a") == 1)
        try await store.upsert([document("3")], in: "a")
        #expect(
            await code { try await store.upsert([document("4")], in: "a", externalIDPath: path) }
                == .ambiguous)
        #expect(try await store.count(in: "a") == 2)
    }

    @Test("upsert with external id sees what stands before it in the batch")
    func upsertWithExternalIDInBatch() async throws {
        let store = try await store()
        let stored = try await store.upsert(
            [["id": "k", "n": 1], ["id": "k", "n": 2], ["id": "l"]], in: "a", externalIDPath: "id")
        #expect(stored.map(\.soupEntryID) == [1, 1, 2])
    }

    @Test("upsert with external id refuses an empty one and a path without a fitting index")
    func upsertWithBadExternalID() async throws {
        let store = try await store()
        try await store.registerSoup("text", indexSpecs: [IndexSpec("words", .fullText)])
        for document: JSONValue in [[:], ["id": nil], ["id": ""]] {
            #expect(
                await code { try await store.upsert([document], in: "a", externalIDPath: "id") }
                    == .invalidInput)
        }
        for path in ["ID", "other", "", "_soup", "_soupCreatedDate"] {
            #expect(
                await code { try await store.upsert([["id": "x"]], in: "a", externalIDPath: path) }
                    == .invalidInput)
        }
        #expect(
            await code { try await store.upsert([["n": "text"]], in: "a", externalIDPath: "n") }
                == .invalidInput)
        #expect(
            await code { try await store.upsert([["words": "x"]], in: "text", externalIDPath: "words") }
                == .invalidInput)
        #expect(try await store.count(in: "a") == 0)
        let plain = try await store.upsert([["id": "x"]], in: "a", externalIDPath: "_soupEntryId")
        #expect(plain[0].soupEntryID == 1)
    }

    @Test("upsert with external id compares fractions and arrays as their index keeps them")
    func upsertWithOddExternalID() async throws {
        let store = try await store()
        for _ in 0..<2 {
            try await store.upsert([["n": 1.5, "id": "a"]], in: "a", externalIDPath: "n")
            try await store.upsert([["n": 7, "id": ["x", "y"]]], in: "a", externalIDPath: "id")
            try await store.upsert([["n": 8, "j": ["x": [1]]]], in: "a", externalIDPath: "j")
        }
        #expect(try await store.count(in: "a") == 3)
    }

    @Test("retrieve returns entries in the order asked for and leaves out missing ones")
    func retrieve() async throws {
        let store = try await SoupStore.people()
        let found = try await store.retrieve([4, 99, 1, 1, -5, .max], from: "people")
        #expect(found.map { $0["Name"]?.string } == ["Edsger", "Ada", "Ada"])
        #expect(try await store.retrieve([], from: "people").isEmpty)
        #expect(await code { try await store.retrieve([1], from: "People") } == .absent)
    }

    @Test("lookupEntryID finds the one entry with a value, none, or says that there are several")
    func lookupEntryID() async throws {
        let store = try await SoupStore.people()
        func look(_ path: String, _ value: JSONValue) async throws -> Int64? {
            try await store.lookupEntryID(in: "people", path: path, value: value)
        }
        #expect(try await look("Name", "Grace") == 2)
        #expect(try await look("Name", "grace") == nil)
        #expect(try await look("Age", 41) == 3)
        #expect(try await look("Height", 1.65) == 1)
        #expect(try await look("Height", nil) == 4)
        #expect(try await look("Owner.Name", "Max") == 3)
        #expect(await code { try await look("Owner.Name", nil) } == .ambiguous)
        #expect(await code { try await look("Shoe", "x") } == .invalidInput)
        #expect(await code { try await look("Notes", "x") } == .invalidInput)
        #expect(await code { try await look("Age", "old") } == .invalidInput)
        #expect(
            await code { try await store.lookupEntryID(in: "x", path: "Name", value: "y") } == .absent)
    }

    @Test("remove by ids counts those that were there")
    func removeByIDs() async throws {
        let store = try await SoupStore.people()
        #expect(try await store.remove([2, 99, 2, 4], from: "people") == 2)
        #expect(try await store.names(.all(), in: "people") == ["Ada", "alan", "Émilie"])
        #expect(try await store.remove([], from: "people") == 0)
        #expect(try await store.count(.match("ships"), in: "people") == 0)
        #expect(await code { try await store.remove([1], from: "x") } == .absent)
    }

    @Test("remove by query removes all that it finds, not only a page")
    func removeByQuery() async throws {
        let store = try await SoupStore.people()
        let all = QuerySpec.range(from: 40, to: nil, path: "Age", pageSize: 1)
        #expect(try await store.remove(matching: all, from: "people") == 4)
        #expect(try await store.names(.all(), in: "people") == ["Ada"])
        #expect(try await store.remove(matching: .match("poems"), from: "people") == 1)
        #expect(
            await code { try await store.remove(matching: .exact("x", path: "y"), from: "people") }
                == .invalidInput)
    }

    @Test("Awkward keys and values come back as they went in")
    func awkwardDocuments() async throws {
        let store = try await store()
        let deep = (0..<400).reduce(JSONValue.object(["end": 1])) { inner, _ in ["down": inner] }
        let long = String(repeating: "0123456789abcdef", count: 65_536)
        let documents: [JSONValue] = [
            [
                "": "", "a.b": 1, "é": "e\u{301}", "😀": "\u{0}\u{1F}\"\\/",
                "'": "'; DROP TABLE coffer_soups; --",
            ],
            [
                "big": 9_007_199_254_740_993, "least": .integer(.min),
                "huge": .bigInteger("123456789012345678901"),
            ],
            ["deep": deep], ["id": .string(long), "n": 1, "text": .string(long)],
            ["id": "a\u{0}b"], ["id": "a\u{0}c"], ["id": "a"],
        ]
        let stored = try await store.upsert(documents, in: "a")
        let found = try await store.retrieve(stored.compactMap(\.soupEntryID), from: "a")
        #expect(found == stored)
        for (document, found) in zip(documents, found) {
            for (key, value) in document.object ?? [:] { #expect(found[key] == value) }
        }
        #expect(try await store.lookupEntryID(in: "a", path: "id", value: "a\u{0}b") == 5)
        #expect(try await store.lookupEntryID(in: "a", path: "id", value: "a\u{0}c") == 6)
        #expect(try await store.lookupEntryID(in: "a", path: "id", value: "a") == 7)
        #expect(try await store.lookupEntryID(in: "a", path: "id", value: .string(long)) == 4)
    }

    @Test("Paths of any characters are indexed")
    func unicodePaths() async throws {
        let store = try await SoupStore.insecureInMemory()
        let paths = [
            "ключ.имя", "😀", "a b", "'quoted'", "\"", "%_", #"a\.b"#, "{x}", "$[0]", "_soup2", "C", "c",
        ]
        for kind in [IndexSpec.Kind.string, .json1] {
            let usable = paths.filter { kind == .string || $0 != "\"" }
            try await store.registerSoup(kind.rawValue, indexSpecs: usable.map { IndexSpec($0, kind) })
            for path in usable {
                let keys = path == #"a\.b"# ? ["a.b"] : path.split(separator: ".").map(String.init)
                let document = keys.reversed().reduce(JSONValue.string("v " + path)) { inner, key in
                    .object([key: inner])
                }
                let stored = try await store.upsert([document], in: kind.rawValue)[0]
                let found = try await store.lookupEntryID(
                    in: kind.rawValue, path: path, value: .string("v " + path))
                #expect(found == stored.soupEntryID, "\(kind) \(path)")
            }
        }
    }
}
