import CofferBase
import GRDB
import TestSupport
import Testing

@testable import CofferDatabase

@Suite("Soups: smart queries")
struct SmartQueryTests {
    private func rows(
        _ store: SoupStore, _ sql: String, _ arguments: [JSONValue] = [], named: [String: JSONValue] = [:]
    ) async throws -> [JSONValue] {
        let query = try SmartQuery(sql, arguments: arguments, named: named, pageSize: 100)
        return await (try await store.query(query)).currentPage
    }

    @Test("Smart queries select paths, with arguments by place and by name")
    func selectPaths() async throws {
        let store = try await SoupStore.people()
        let sql = "SELECT {people:Name}, {people:Age} FROM {people} WHERE {people:Age} > ? ORDER BY 2;"
        #expect(try await rows(store, sql, [43]) == [["Edsger", 72], ["Grace", 85]])
        let named = "select {people:Name} from {people} where {people:Name} = :name or {people:Age} = :age"
        #expect(
            try await rows(store, named, named: ["name": "Ada", "age": 41]).count == 2)
        #expect(
            try await rows(
                store,
                "SELECT {people:Height}, {people:Owner.Name} FROM {people} WHERE {people:Name} IN (?, ?)",
                ["Ada", "Edsger"])
                == [[1.65, "Byron"], [nil, nil]])
    }

    @Test("Smart queries join soups, and a soup with itself")
    func join() async throws {
        let store = try await SoupStore.people()
        try await store.registerSoup(
            "Dogs", indexSpecs: [IndexSpec("Owner", .string), IndexSpec("x", .json1)])
        try await store.upsert([["Owner": "Ada", "x": 1], ["Owner": "alan", "x": 2]], in: "Dogs")
        #expect(
            try await rows(
                store,
                """
                SELECT {Dogs:x}, {people:Age} FROM {Dogs} JOIN {people} ON {people:Name} = {Dogs:Owner}
                ORDER BY 1
                """) == [[1, 36], [2, 41]])
        #expect(
            try await rows(
                store,
                """
                SELECT a.{people:Name}, b.{people:Owner.Name} FROM {people} a, {people} b
                WHERE a.{people:_soupEntryId} + 1 = b.{people:_soupEntryId} AND b.{people:Owner.Name} NOT NULL
                """) == [["Grace", "Max"]])
    }

    @Test("Smart queries return documents for _soup, and their text under another name")
    func selectDocuments() async throws {
        let store = try await SoupStore.people()
        let stored = try await store.retrieve([1, 2], from: "people")
        #expect(
            try await rows(
                store,
                "SELECT {people:_soup} FROM {people} WHERE {people:Name} < 'H' AND {people:Age} <> 72"
            )
                == stored.map { [$0] })
        let row = try await rows(
            store,
            """
            SELECT {people:_soupEntryId}, {people:_soup}, {people:_soupLastModifiedDate}, {people:_soup},
                {people:_soup} AS text FROM {people} WHERE {people:_soupEntryId} = 1
            """)[0]
        #expect(row[0] == 1 && row[1] == stored[0] && row[2] == 1_800_000_000_000 && row[3] == stored[0])
        #expect(try row[4] == .string(stored[0].jsonText()))
    }

    @Test("Smart queries count, group, nest and begin with WITH or VALUES")
    func shapes() async throws {
        let store = try await SoupStore.people()
        #expect(try await rows(store, "SELECT count(*) FROM {people}") == [[5]])
        #expect(
            try await rows(
                store,
                "WITH a AS (SELECT {people:Name} FROM {people} WHERE {people:Age} > 50) SELECT * FROM a"
            )
            .count == 2)
        #expect(try await rows(store, "VALUES (1, 'x'), (?, x'00ff')", [nil]) == [[1, "x"], [nil, "00ff"]])
        #expect(try await rows(store, "SELECT 9e999, -0.5, 'é'") == [[nil, -0.5, "é"]])
        #expect(
            try await rows(
                store,
                """
                SELECT {people:Name} FROM {people} WHERE {people:_soupEntryId} IN
                    (SELECT rowid FROM {people:_fullText} WHERE {people:_fullText} MATCH ?) ORDER BY 1
                """, ["engines"]) == [["Ada"], ["alan"]])
        #expect(
            try await store.count(
                SmartQuery("SELECT 1 FROM {people} WHERE {people:Age} > ?", arguments: [40])) == 4)
    }

    @Test("Braces in strings, quoted names and comments are left alone")
    func quotations() async throws {
        let store = try await SoupStore.people()
        #expect(
            try await rows(
                store,
                """
                SELECT '{people:Name} ''x'' -- ; ( ', "{" AS [a}b], 1 /* {nobody} ; ' ( */ AS `c{`, -- ) {
                    {people:Name} FROM (SELECT 'q' AS "{"), {people} WHERE {people:Name} = 'Ada' -- end
                """) == [["{people:Name} 'x' -- ; ( ", "q", 1, "Ada"]])
    }

    @Test("Tokens keep what stands in quotations")
    func tokens() throws {
        let template = try SmartTemplate("SELECT/**/a.{s:p.q}, \"x\"\"{y}\" FROM {s} -- }\n;")
        #expect(
            template.tokens == [
                .word("SELECT"), .space, .word("a"), .symbol("."), .soup("s", path: "p.q"), .symbol(","),
                .space,
                .quoted("\"x\"\"{y}\""), .space, .word("FROM"), .space, .soup("s", path: nil), .space, .space,
                .space,
            ])
    }

    @Test(
        "A text that writes or is incomplete is refused before it runs",
        arguments: [
            "", " ", ";", "DELETE FROM {people}", "UPDATE {people} SET c1 = 1",
            "INSERT INTO {people} VALUES (1)",
            "DROP TABLE {people}", "PRAGMA writable_schema = 1", "ATTACH 'x' AS y", "EXPLAIN SELECT 1",
            "BEGIN",
            "VACUUM", "SELECT 1; SELECT 2", "SELECT 1;;", "SELECT 1; --\n DROP TABLE x", "SELECT 1)",
            "SELECT (1", "SELECT 1) UNION SELECT (2", "SELECT ')' ) --", "SELECT 'a", "SELECT \"a",
            "SELECT `a",
            "SELECT [a", "SELECT /* a", "SELECT 1 /*", "SELECT {people", "SELECT }", "SELECT {}",
            "SELECT {:x}",
            "SELECT {{people}}", "SELECT 1 \u{0} FROM", "SELECT 'a\u{0}b'", "SELECT -- a\u{0}\n 1",
            "/* SELECT */ DELETE FROM {people}", "'SELECT' 1", "SELECT $a(') ) ; DROP TABLE x; --')",
            "SELECT :a(')')", "SELECT @a::b(')')",
            "SELECT #a(')')", "SELECT a$b(')')",
        ])
    func refusedTexts(_ sql: String) { #expect(failure { _ = try SmartQuery(sql) } == .invalidInput) }

    @Test(
        "A query that SQLite refuses, or that would write, changes nothing",
        arguments: [
            "SELECT", "SELECT * FROM nobody", "SELECT {people:Shoe} FROM {people}",
            "SELECT {people:name} FROM {people}", "SELECT {people:Name;} FROM {people}",
            "SELECT {people:Name\" FROM sqlite_master --} FROM {people}", "SELECT 1 FROM {people} WHERE",
            "WITH x AS (SELECT 1) DELETE FROM {people}", "WITH x AS (SELECT 1) INSERT INTO {people} SELECT 1",
            "WITH x AS (DELETE FROM {people} RETURNING 1) SELECT * FROM x",
            "WITH x AS (SELECT 1) UPDATE {people} SET c1 = 'x'", "SELECT ?", "SELECT :a",
            "SELECT 1 WHERE load_extension('x') IS NULL",
            "SELECT writefile('x', 'y')", "SELECT * FROM pragma_journal_mode('delete') WHERE nosuch",
        ])
    func refusedByDatabase(_ sql: String) async throws {
        let store = try await SoupStore.people()
        let before = try await store.retrieve([1, 2, 3, 4, 5], from: "people")
        let query = try SmartQuery(sql)
        #expect(await code { try await store.query(query) } == .invalidInput)
        #expect(await code { try await store.count(query) } == .invalidInput)
        #expect(try await store.retrieve([1, 2, 3, 4, 5], from: "people") == before)
    }

    @Test(
        "A query that would load a library is refused; to count rows, SQLite may leave out their columns",
        arguments: StoreKind.allCases)
    func loadsNothing(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await kind.open(in: scratch)
        let column = try SmartQuery("SELECT load_extension('x')")
        #expect(await code { try await store.query(column) } == .invalidInput)
        // An encrypted database does not even compile it. The others need not call the function to count.
        let counted = await code { try await store.count(column) }
        let isEncrypted = kind == .encryptedQueue || kind == .encryptedPool
        #expect(counted == .invalidInput || counted == nil && !isEncrypted)
        let condition = try SmartQuery("SELECT 1 WHERE load_extension('x') IS NULL")
        #expect(await code { try await store.query(condition) } == .invalidInput)
        #expect(await code { try await store.count(condition) } == .invalidInput)
    }

    @Test("Arguments that are missing, too many, of another name or with a NUL are refused")
    func badArguments() async throws {
        let store = try await SoupStore.people()
        let queries = [
            try SmartQuery("SELECT ?", arguments: [1, 2]), try SmartQuery("SELECT ?, ?", arguments: [1]),
            try SmartQuery("SELECT :a", named: ["b": 1]), try SmartQuery("SELECT 1", arguments: [1]),
            try SmartQuery("SELECT ?", arguments: ["a\u{0}b"]),
            try SmartQuery("SELECT ?", arguments: [.number(.nan)]),
            try SmartQuery("SELECT 1", pageSize: 0),
        ]
        for query in queries { #expect(await code { try await store.query(query) } == .invalidInput) }
        #expect(await code { try await store.query(SmartQuery("SELECT 1 FROM {nobody}")) } == .absent)
        #expect(
            await code { try await store.query(SmartQuery("SELECT {nobody:x} FROM {people}")) } == .absent)
        let text = try SmartQuery("SELECT {people:_fullText} FROM {people}")
        #expect(await code { try await store.query(text) } == .invalidInput)
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        let none = try SmartQuery("SELECT * FROM {a:_fullText}")
        #expect(await code { try await store.query(none) } == .invalidInput)
    }

    @Test("A smart query reads only, on every kind of database", arguments: StoreKind.allCases)
    func readOnly(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await kind.open(in: scratch)
        try await store.registerSoup("a", indexSpecs: [IndexSpec("a", .string)])
        // The wrapping SELECT leaves no room for a statement that writes; this asks for one without it.
        let writes = await code {
            try await store.read { try $0.execute(sql: "DELETE FROM coffer_soups") }
        }
        #expect(writes == .readOnly)
        #expect(try await store.soupExists("a"))
    }

    @Test("Arguments are values, whatever stands in them")
    func argumentsAreValues() async throws {
        let store = try await SoupStore.people()
        for text in ["' OR 1=1 --", "\"; DROP TABLE coffer_soups; --", "{people:Name}", "Ada' --"] {
            let sql = "SELECT {people:Name} FROM {people} WHERE {people:Name} = ?"
            #expect(try await rows(store, sql, [.string(text)]).isEmpty)
            #expect(try await store.count(.exact(.string(text), path: "Name"), in: "people") == 0)
            #expect(try await store.count(.like(text, path: "Name"), in: "people") == 0)
        }
        #expect(try await rows(store, "SELECT ?, ?", [[1, "a"], true]) == [["[1,\"a\"]", 1]])
        #expect(try await store.count(in: "people") == 5)
    }
}
