import CofferBase
import CofferDatabase
import TestSupport
import Testing

@Suite("Soups: cursors and sequences")
struct SoupCursorTests {
    private func store(_ count: Int) async throws -> SoupStore {
        let store = try await SoupStore.insecureInMemory()
        try await store.registerSoup("a", indexSpecs: [IndexSpec("n", .integer)])
        try await store.upsert((0..<count).map { ["n": .integer(Int64($0))] }, in: "a")
        return store
    }

    private func numbers(_ cursor: SoupCursor) async -> [Int64?] {
        await cursor.currentPage.map { $0["n"]?.integer }
    }

    @Test("A cursor begins at the first of pages of ten")
    func pages() async throws {
        let cursor = try await store(25).query(.all(orderPath: "n"), in: "a")
        #expect(cursor.pageSize == 10)
        #expect(await cursor.totalPages == 3)
        #expect(await cursor.totalEntries == 25)
        #expect(await cursor.pageIndex == 0)
        #expect(await numbers(cursor) == Array(0..<10))
    }

    @Test("moveCursorToNextPage moves up to the last page")
    func moveToNextPage() async throws {
        let cursor = try await store(25).query(.all(orderPath: "n"), in: "a")
        #expect(try await cursor.moveToNextPage())
        #expect(await numbers(cursor) == Array(10..<20))
        #expect(try await cursor.moveToNextPage())
        #expect(await numbers(cursor) == Array(20..<25))
        #expect(try await !cursor.moveToNextPage())
        #expect(await cursor.pageIndex == 2)
        #expect(await numbers(cursor) == Array(20..<25))
    }

    @Test("moveCursorToPreviousPage moves back to the first page")
    func moveToPreviousPage() async throws {
        let cursor = try await store(11).query(.all(orderPath: "n", order: .descending), in: "a")
        #expect(try await !cursor.moveToPreviousPage())
        #expect(try await cursor.moveToNextPage())
        #expect(await numbers(cursor) == [0])
        #expect(try await cursor.moveToPreviousPage())
        #expect(await cursor.pageIndex == 0)
        #expect(await numbers(cursor).first == 10)
    }

    @Test("moveCursorToPageIndex moves to any existing page")
    func moveToPageIndex() async throws {
        let cursor = try await store(25).query(.all(orderPath: "n", pageSize: 4), in: "a")
        try await cursor.moveToPage(6)
        #expect(await numbers(cursor) == [24])
        try await cursor.moveToPage(2)
        #expect(await numbers(cursor) == [8, 9, 10, 11])
        for index in [-1, 7, Int.max, Int.min] {
            #expect(await code { try await cursor.moveToPage(index) } == .invalidInput)
        }
        #expect(await cursor.pageIndex == 2)
    }

    @Test("closeCursor ends the cursor")
    func closeCursor() async throws {
        let cursor = try await store(25).query(.all(), in: "a")
        await cursor.close()
        #expect(await cursor.currentPage.isEmpty)
        #expect(await code { try await cursor.moveToNextPage() } == .refused)
        #expect(await code { try await cursor.moveToPreviousPage() } == .refused)
        #expect(await code { try await cursor.moveToPage(0) } == .refused)
        await cursor.close()
    }

    @Test("A cursor shows what was changed since it moved last")
    func dynamic() async throws {
        let store = try await store(20)
        let cursor = try await store.query(.all(orderPath: "n"), in: "a")
        try await store.upsert([["n": -1], ["n": 12]], in: "a")
        #expect(try await cursor.moveToNextPage())
        #expect(await cursor.totalPages == 3)
        #expect(await numbers(cursor) == [9, 10, 11, 12, 12, 13, 14, 15, 16, 17])
        try await store.remove(matching: .range(from: 5, to: nil, path: "n"), from: "a")
        #expect(try await !cursor.moveToNextPage())
        #expect(await cursor.totalPages == 1)
        #expect(try await cursor.moveToPreviousPage())
        #expect(await numbers(cursor) == [-1, 0, 1, 2, 3, 4])
        try await store.removeSoup("a")
        #expect(await code { try await cursor.moveToPage(0) } == .absent)
    }

    @Test("An empty result has no pages, but page 0 is shown empty")
    func empty() async throws {
        let cursor = try await store(0).query(.all(), in: "a")
        #expect(await cursor.totalPages == 0)
        #expect(await cursor.currentPage.isEmpty)
        #expect(try await !cursor.moveToNextPage())
        try await cursor.moveToPage(0)
        #expect(await code { try await cursor.moveToPage(1) } == .invalidInput)
    }

    @Test("Pages may be as large as numbers are")
    func hugePages() async throws {
        let cursor = try await store(3).query(.all(pageSize: .max), in: "a")
        #expect(await cursor.totalPages == 1)
        #expect(await cursor.currentPage.count == 3)
        #expect(try await !cursor.moveToNextPage())
    }

    @Test("A cursor of a smart query has pages of rows")
    func smart() async throws {
        let store = try await store(25)
        let query = try SmartQuery("SELECT {a:n} FROM {a} ORDER BY {a:n} DESC", pageSize: 20)
        let cursor = try await store.query(query)
        #expect(await cursor.totalPages == 2)
        try await cursor.moveToNextPage()
        #expect(await cursor.currentPage == [[4], [3], [2], [1], [0]])
    }

    @Test("A sequence returns every entry once, whatever is inserted and removed on the way")
    func entries() async throws {
        let store = try await store(25)
        var seen: [Int64] = []
        for try await document in store.entries(matching: .all(orderPath: "n", pageSize: 4), in: "a") {
            guard let number = document["n"]?.integer, let id = document.soupEntryID else { continue }
            seen.append(number)
            try await store.remove([id], from: "a")
            if number == 0 { try await store.upsert([["n": 1000]], in: "a") }
            if number == 1 { try await store.remove(matching: .exact(20, path: "n"), from: "a") }
        }
        #expect(seen == Array(0..<20) + Array(21..<25))
        #expect(try await store.count(in: "a") == 1)
    }

    @Test("Sequences throw what queries throw")
    func sequencesThrow() async throws {
        let store = try await store(1)
        #expect(await code { for try await _ in store.entries(in: "b") {} } == .absent)
        #expect(
            await code { for try await _ in store.entries(matching: .all(pageSize: 0), in: "a") {} }
                == .invalidInput)
        let query = try SmartQuery("SELECT {b:n} FROM {b}")
        #expect(await code { for try await _ in store.rows(of: query) {} } == .absent)
    }

    @Test("The rows of a smart query come one after the other")
    func rows() async throws {
        let store = try await store(25)
        var seen: [JSONValue] = []
        let query = try SmartQuery(
            "SELECT {a:n} FROM {a} WHERE {a:n} < ? ORDER BY 1", arguments: [22], pageSize: 10)
        for try await row in store.rows(of: query) { seen += row }
        #expect(seen == (0..<22).map { .integer($0) })
        let none = try SmartQuery("SELECT 1 FROM {a} WHERE 0")
        for try await _ in store.rows(of: none) { Issue.record("there is no row") }
    }
}
