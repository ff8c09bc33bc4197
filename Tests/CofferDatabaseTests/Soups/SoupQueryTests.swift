import CofferBase
import CofferDatabase
import TestSupport
import Testing

@Suite("Soups: queries over one path")
struct SoupQueryTests {
    @Test("querySoup all: every entry, by id or by a path, in both directions", arguments: StoreKind.allCases)
    func queryAll(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await kind.open(in: scratch)
        try await store.registerSoup("people", indexSpecs: SoupStore.peopleSpecs)
        try await store.upsert(SoupStore.people, in: "people")
        let byID = ["Ada", "Grace", "alan", "Edsger", "Émilie"]
        #expect(try await store.names(.all(), in: "people") == byID)
        #expect(try await store.names(.all(order: .descending), in: "people") == byID.reversed())
        let byName = ["Ada", "Edsger", "Grace", "alan", "Émilie"]
        #expect(try await store.names(.all(orderPath: "Name"), in: "people") == byName)
        #expect(
            try await store.names(.all(orderPath: "Name", order: .descending), in: "people")
                == byName.reversed())
        // Entries without a height come first.
        let byHeight = ["Edsger", "Émilie", "Ada", "Grace", "alan"]
        #expect(try await store.names(.all(orderPath: "Height"), in: "people") == byHeight)
        #expect(
            try await store.names(.all(orderPath: "_soupCreatedDate", order: .descending), in: "people")
                == byID.reversed())
        #expect(try await store.count(in: "people") == 5)
    }

    @Test("querySoup exact: the value itself, of every kind of index")
    func queryExact() async throws {
        let store = try await SoupStore.people()
        func names(_ key: JSONValue, _ path: String) async throws -> [String?] {
            try await store.names(.exact(key, path: path), in: "people")
        }
        #expect(try await names("Ada", "Name") == ["Ada"])
        #expect(try await names("ada", "Name") == [])
        #expect(try await names("E\u{301}milie", "Name") == [])
        #expect(try await names(36, "Age") == ["Ada"])
        #expect(try await names(36.0, "Age") == ["Ada"])
        #expect(try await names(36.5, "Age") == [])
        #expect(try await names(1.6, "Height") == ["Émilie"])
        #expect(try await names(nil, "Height") == ["Edsger"])
        #expect(try await names("Max", "Owner.Name") == ["alan"])
        #expect(try await names(nil, "Owner.Name") == ["Grace", "Edsger", "Émilie"])
        #expect(try await names("compilers\nships", "Notes") == ["Grace"])
        #expect(try await names(3, "_soupEntryId") == ["alan"])
        #expect(
            try await store.names(.exact(nil, path: "Owner.Name", orderPath: "Age"), in: "people")
                == ["Émilie", "Edsger", "Grace"])
    }

    @Test("querySoup range: both ends belong to it, and either may be open")
    func queryRange() async throws {
        let store = try await SoupStore.people()
        func names(
            _ begin: JSONValue?, _ end: JSONValue?, _ path: String = "Age",
            _ order: QuerySpec.Order = .ascending
        ) async throws -> [String?] {
            try await store.names(.range(from: begin, to: end, path: path, order: order), in: "people")
        }
        #expect(try await names(36, 43) == ["Ada", "alan", "Émilie"])
        #expect(try await names(36, 43, "Age", .descending) == ["Émilie", "alan", "Ada"])
        #expect(try await names(43, nil) == ["Émilie", "Edsger", "Grace"])
        #expect(try await names(nil, 41) == ["Ada", "alan"])
        #expect(try await names(nil, nil) == ["Ada", "alan", "Émilie", "Edsger", "Grace"])
        #expect(try await names(.null, .null, "Height").count == 5)
        #expect(try await names(44, 43) == [])
        #expect(try await names(36.5, 41.5) == ["alan"])
        #expect(try await names("B", "H", "Name") == ["Edsger", "Grace"])
        #expect(try await names(1.65, 1.7, "Height") == ["Ada", "Grace"])
        #expect(try await names("A", "C", "Owner.Name") == ["Ada"])
        #expect(try await names(2, 3, "_soupEntryId") == ["Grace", "alan"])
    }

    @Test("querySoup like: wild cards at either end, and none where they are escaped")
    func queryLike() async throws {
        let store = try await SoupStore.people()
        func names(_ pattern: String, _ path: String = "Name") async throws -> [String?] {
            try await store.names(.like(pattern, path: path), in: "people")
        }
        #expect(try await names("a%") == ["Ada", "alan"])
        #expect(try await names("%a%") == ["Ada", "Grace", "alan"])
        #expect(try await names("%r") == ["Edsger"])
        #expect(try await names("A_a") == ["Ada"])
        #expect(try await names("%") == ["Ada", "Edsger", "Grace", "alan", "Émilie"])
        #expect(try await names("") == [])
        #expect(try await names("3_", "Age") == ["Ada"])
        #expect(try await names("%engines%", "Notes").count == 2)
        #expect(try await names("M%", "Owner.Name") == ["alan"])
        try await store.upsert([["Name": #"100%_\"#]], in: "people")
        #expect(try await names("%" + QuerySpec.literal(#"%_\"#)) == [#"100%_\"#])
        #expect(try await names(QuerySpec.literal("%")) == [])
        #expect(QuerySpec.literal(#"a%b_c\d"#) == #"a\%b\_c\\d"#)
    }

    @Test("querySoup match: words of one path or of all, by relevance or by a path")
    func queryMatch() async throws {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup(
            "a",
            indexSpecs: [
                IndexSpec("Name", .string), IndexSpec("title", .fullText), IndexSpec("body.text", .fullText),
            ])
        try await store.upsert(
            [
                ["Name": "1", "title": "Cloud storage", "body": ["text": "keys and tokens"]],
                ["Name": "2", "title": "Keys", "body": [["text": "clouds"], ["text": "cloud cloud"]]],
                ["Name": "3", "title": 2026, "body": ["text": ["Überraschung": "naïve café"]]],
                ["Name": "4"],
            ], in: "a")
        func names(_ expression: String, _ path: String? = nil) async throws -> [String?] {
            try await store.names(.match(expression, path: path, orderPath: "Name"), in: "a")
        }
        #expect(try await names("cloud") == ["1", "2"])
        #expect(try await names("cloud", "title") == ["1"])
        #expect(try await names("cloud OR keys", "body.text") == ["1", "2"])
        #expect(try await names("clou*", "body.text") == ["2"])
        #expect(try await names("cloud NOT storage") == ["2"])
        #expect(try await names("cafe") == ["3"])
        #expect(try await names("2026", "title") == ["3"])
        #expect(try await names("nothing") == [])
        #expect(try await names("") == [])
        #expect(try await store.names(.match("cloud"), in: "a") == ["2", "1"])
        #expect(try await store.count(.match("cloud"), in: "a") == 2)
        try await store.upsert([["_soupEntryId": 2, "Name": "2", "title": "changed"]], in: "a")
        #expect(try await names("cloud") == ["1"])
        #expect(try await names("changed") == ["2"])
    }

    @Test("Typed text is no expression: its words are looked for as they stand")
    func words() async throws {
        let store = try await SoupStore.people()
        #expect(QuerySpec.words(#" say "hi"  AND "#) == #""say" """hi""" "AND""#)
        for typed in ["engines poems", "poems engines", "ENGINES"] {
            #expect(try await store.count(.match(QuerySpec.words(typed)), in: "people") > 0)
        }
        for typed in ["engines OR poems", "NOT engines", "\"", "*", "a:b", "{Notes} : x", ")(", "", " "] {
            #expect(try await store.count(.match(QuerySpec.words(typed)), in: "people") == 0)
        }
    }

    @Test("A match is restricted to its path, whatever the expression says")
    func matchStaysOnPath() async throws {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup("a", indexSpecs: [IndexSpec("x", .fullText), IndexSpec("y", .fullText)])
        try await store.upsert([["x": "open", "y": "secret"]], in: "a")
        for expression in ["secret", "c2 : secret", "open) OR (secret", "{c1 c2} : secret", "- c1 : secret"] {
            let found = try? await store.count(.match(expression, path: "x"), in: "a")
            #expect((found ?? 0) == 0, "\(expression)")
        }
        #expect(try await store.count(.match("secret", path: "y"), in: "a") == 1)
    }

    @Test("Queries refuse what they cannot answer")
    func refusals() async throws {
        let store = try await SoupStore.people()
        let bad: [QuerySpec] = [
            .all(orderPath: "Shoe"), .all(orderPath: "name"), .all(pageSize: 0), .all(pageSize: -1),
            .exact("x", path: "Shoe"), .exact("x", path: "Age"), .exact([1], path: "Age"),
            .exact(.number(.nan), path: "Height"), .exact("x", path: "_soupEntryId"), .exact("x", path: ""),
            .range(from: "a", to: 3, path: "Age"), .range(from: nil, to: 3, path: "Shoe"),
            .range(from: .number(.infinity), to: nil, path: "Height"),
            .like("x", path: "Shoe"), .like("a\u{0}", path: "Name"), .like("x", path: "Name", orderPath: "z"),
            .like(String(repeating: "a%", count: 30_000), path: "Name"),
            .match("x", path: "Name"), .match("x", path: "Shoe"), .match("\""), .match("AND"),
            .match("a\u{0}"),
            .match("(x"), .match("nosuchcolumn : x"),
        ]
        for spec in bad {
            #expect(await code { try await store.query(spec, in: "people") } == .invalidInput, "\(spec)")
        }
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        #expect(await code { try await store.query(.match("x"), in: "a") } == .invalidInput)
        #expect(await code { try await store.query(.all(), in: "b") } == .absent)
        #expect(await code { try await store.count(in: "b") } == .absent)
        #expect(try await store.count(in: "people") == 5)
    }

    @Test("Whole numbers beyond 2^53 are told apart")
    func largeIntegers() async throws {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup("a", indexSpecs: [IndexSpec("n", .integer), IndexSpec("s", .string)])
        let numbers: [Int64] = [9_007_199_254_740_992, 9_007_199_254_740_993, .max, .min]
        try await store.upsert(numbers.map { ["n": .integer($0), "s": .integer($0)] }, in: "a")
        for number in numbers {
            for path in ["n", "s"] {
                let cursor = try await store.query(.exact(.integer(number), path: path), in: "a")
                #expect(await cursor.currentPage.map { $0["n"] } == [.integer(number)])
            }
        }
        #expect(try await store.count(.range(from: .integer(.max), to: nil, path: "n"), in: "a") == 1)
    }

    @Test("Indexes keep what their kind keeps, and pass over the rest")
    func indexedValues() async throws {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup(
            "a", indexSpecs: [IndexSpec("v", .integer), IndexSpec("w", .floating), IndexSpec("x", .string)])
        let values: [JSONValue] = [
            "12", [1, 2], ["a": 1], nil, 2.9, -2.9, true, 1e300, .bigInteger("10000000000000000000000"),
        ]
        try await store.upsert(values.map { ["v": $0, "w": $0, "x": $0] }, in: "a")
        #expect(try await store.count(.exact(nil, path: "v"), in: "a") == 4)
        #expect(try await store.count(.exact(nil, path: "w"), in: "a") == 4)
        #expect(try await store.count(.exact(nil, path: "x"), in: "a") == 1)
        #expect(try await store.count(.exact(2, path: "v"), in: "a") == 1)
        #expect(try await store.count(.exact(-2, path: "v"), in: "a") == 1)
        #expect(try await store.count(.exact(2.9, path: "w"), in: "a") == 1)
        #expect(try await store.count(.exact(1, path: "v"), in: "a") == 1)
        #expect(try await store.count(.range(from: 1e22, to: nil, path: "v"), in: "a") == 2)
        #expect(try await store.count(.exact([1, 2], path: "x"), in: "a") == 1)
        #expect(try await store.count(.exact(["a": 1], path: "x"), in: "a") == 1)
        #expect(try await store.count(.exact("true", path: "x"), in: "a") == 1)
    }

    @Test("explain shows that exact and range queries use their index, and like none")
    func explain() async throws {
        let store = try await SoupStore.people()
        for path in ["Name", "Age", "Height", "Owner.Name"] {
            let key: JSONValue = path.hasSuffix("Name") ? "x" : 1
            for spec in [QuerySpec.exact(key, path: path), .range(from: key, to: nil, path: path)] {
                let plan = try await store.explain(spec, in: "people").joined()
                #expect(plan.contains("USING INDEX"), "\(path): \(plan)")
                #expect(!plan.contains("TEMP B-TREE"), "\(path): \(plan)")
            }
        }
        #expect(try await store.explain(.match("x"), in: "people").joined().contains("VIRTUAL TABLE"))
        #expect(
            try await store.explain(.all(orderPath: "Name"), in: "people").joined().contains("USING INDEX"))
        let smart = try SmartQuery("SELECT {people:Name} FROM {people} WHERE {people:Age} = 3")
        #expect(try await store.explain(smart).joined().contains("USING INDEX"))
        #expect(await code { try await store.explain(.all(), in: "x") } == .absent)
        #expect(await code { try await store.explain(.all(orderPath: "x"), in: "people") } == .invalidInput)
    }
}
