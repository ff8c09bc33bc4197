import CofferBase
import CofferTesting
import GRDB
import Synchronization
import Testing
import TestSupport

@testable import CofferDatabase

@Suite("Soups: alterSoup and reindexSoup")
struct SoupAlterationTests {
    private let old = [IndexSpec("n", .integer), IndexSpec("words", .fullText)]
    private let new = [
        IndexSpec("s", .string), IndexSpec("n", .floating), IndexSpec("title", .fullText),
        IndexSpec("j.k", .json1),
    ]

    private func document(_ number: Int64) -> JSONValue {
        [
            "n": .integer(number), "s": .string("s\(number)"), "words": .string("old\(number)"),
            "title": .string("new\(number)"), "j": ["k": .integer(-number)],
        ]
    }

    /// Opens the database again each time, as another process would.
    private func open(
        _ scratch: borrowing ScratchDirectory, stoppingAt stop: Int = .max
    ) async throws -> SoupStore {
        let passed = Mutex(0)
        let pool = try DatabasePool(path: scratch.path(of: "soups.db"))
        return try await SoupStore.open(on: pool, clock: TestClock().source) { step throws(CofferError) in
            let count = passed.withLock { count in
                count += 1
                return count
            }
            if count == stop { throw CofferError(.interrupted, "The test stops after \(step).") }
        }
    }

    private func fill(_ store: SoupStore) async throws {
        try await store.registerSoup("a", indexSpecs: old)
        try await store.upsert((1...450).map { document($0) }, in: "a")
        try await store.remove([7, 450], from: "a")
        try await store.markViewed([1], in: "a")
    }

    private func checkAltered(_ store: SoupStore, count: Int = 448) async throws {
        #expect(try await store.indexSpecs(of: "a") == new)
        #expect(try await !store.attributes(of: "a").isBeingAltered)
        #expect(try await store.count(in: "a") == count)
        #expect(try await store.retrieve([300], from: "a")[0]["s"] == "s300")
        #expect(try await store.count(.exact("s300", path: "s"), in: "a") == 1)
        #expect(try await store.count(.exact(-300, path: "j.k"), in: "a") == 1)
        #expect(try await store.count(.match("new300"), in: "a") == 1)
        #expect(try await store.count(.match("old300"), in: "a") == 0)
        #expect(try await store.count(.exact("s7", path: "s"), in: "a") == 0)
        #expect(await code { try await store.count(.match("x", path: "words"), in: "a") } == .invalidInput)
    }

    private func tables(_ store: SoupStore) async throws -> Int {
        try await store.read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM sqlite_master WHERE name GLOB 'coffer_soup_[0-9]*'") ?? 0
        }
    }

    @Test("alterSoup replaces a soup's indexes, keeps ids and dates, and drops the old indexes")
    func alterSoup() async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await open(scratch)
        try await fill(store)
        let before = try await store.retrieve([1, 300], from: "a")
        let viewed = try await store.query(SmartQuery("SELECT {a:_soupLastViewedDate} FROM {a}")).currentPage
        try await store.alterSoup("a", indexSpecs: new)
        try await checkAltered(store)
        #expect(try await store.retrieve([1, 300], from: "a") == before)
        #expect(
            try await store.query(SmartQuery("SELECT {a:_soupLastViewedDate} FROM {a}")).currentPage == viewed
        )
        #expect(try await store.upsert([document(1)], in: "a")[0].soupEntryID == 451)
        #expect(
            try await store.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_sequence WHERE name = 'coffer_soup_1'")
            } == 0)
        let count = try await tables(store)
        try await store.alterSoup("a", indexSpecs: new)
        #expect(try await tables(store) == count)
        try await store.alterSoup("a", indexSpecs: old)
        #expect(try await store.count(.match("old300"), in: "a") == 1)
    }

    @Test("alterSoup refuses a soup that is not there and bad indexes")
    func alterSoupRefuses() async throws {
        let store = try await SoupStore.people()
        #expect(await code { try await store.alterSoup("x", indexSpecs: new) } == .absent)
        for specs in [[], [IndexSpec("", .string)], [IndexSpec("a", .string), IndexSpec("a", .json1)]] {
            #expect(await code { try await store.alterSoup("people", indexSpecs: specs) } == .invalidInput)
        }
        #expect(try await store.indexSpecs(of: "people") == SoupStore.peopleSpecs)
    }

    @Test("alterSoup resumes at the next open, wherever it was stopped", arguments: 1...6)
    func alterSoupResumes(_ stop: Int) async throws {
        let scratch = try ScratchDirectory.make()
        try await fill(try await open(scratch))
        let stopped = try await open(scratch, stoppingAt: stop)
        let stopCode = await code { try await stopped.alterSoup("a", indexSpecs: new) }
        // Begun, three times moved, finished: the sixth step does not exist.
        #expect(stopCode == (stop <= 5 ? .interrupted : nil))
        let isAltered = stop >= 5
        #expect(try await stopped.attributes(of: "a").isBeingAltered == !isAltered)
        #expect(try await stopped.count(.match(isAltered ? "new300" : "old300"), in: "a") == 1)
        try await checkAltered(try await open(scratch))
    }

    @Test("Insertions, changes and removals during an alteration are there afterwards", arguments: 1...4)
    func alterSoupAmongWriters(_ stop: Int) async throws {
        let scratch = try ScratchDirectory.make()
        try await fill(try await open(scratch))
        let stopped = try await open(scratch, stoppingAt: stop)
        #expect(await code { try await stopped.alterSoup("a", indexSpecs: new) } == .interrupted)
        let added = try await stopped.upsert([document(1000), document(1001)], in: "a").compactMap(
            \.soupEntryID)
        #expect(added == [451, 452])
        var changed = try await stopped.retrieve([2], from: "a")[0]
        changed["s"] = "changed"
        changed["title"] = "changed"
        try await stopped.upsert([changed], in: "a")
        try await stopped.remove([3, 452], from: "a")
        try await stopped.remove(matching: .exact(449, path: "n"), from: "a")
        let again = try await open(scratch)
        try await checkAltered(again, count: 447)
        #expect(try await again.retrieve([3, 449, 452], from: "a").isEmpty)
        #expect(try await again.count(.exact("changed", path: "s"), in: "a") == 1)
        #expect(try await again.count(.match("changed"), in: "a") == 1)
        #expect(try await again.count(.match("new2"), in: "a") == 0)
        #expect(try await again.count(.match("new1000"), in: "a") == 1)
        #expect(try await again.upsert([[:]], in: "a")[0].soupEntryID == 453)
    }

    @Test("A stopped alterSoup is finished before the next one, and ends with its soup")
    func alterSoupAfterStop() async throws {
        let scratch = try ScratchDirectory.make()
        try await fill(try await open(scratch))
        let stopped = try await open(scratch, stoppingAt: 2)
        #expect(await code { try await stopped.alterSoup("a", indexSpecs: new) } == .interrupted)
        try await stopped.alterSoup("a", indexSpecs: new)
        try await checkAltered(stopped)
        let other = try await open(scratch, stoppingAt: 2)
        #expect(await code { try await other.alterSoup("a", indexSpecs: old) } == .interrupted)
        try await other.clearSoup("a")
        #expect(try await other.removeSoup("a"))
        #expect(try await tables(other) == 0)
        let again = try await open(scratch)
        #expect(try await again.soupNames().isEmpty)
        try await fill(again)
    }

    @Test("reindexSoup fills the indexes again, and resumes at the next open", arguments: 1...6)
    func reindexSoup(_ stop: Int) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await open(scratch)
        try await fill(store)
        // What a release with another idea of the indexes could have left.
        try await store.write { db in
            try db.execute(sql: "UPDATE coffer_soup_1 SET c1 = 5, c2 = 'lost'")
            try db.execute(sql: "INSERT INTO coffer_soup_1_text (coffer_soup_1_text) VALUES ('delete-all')")
        }
        #expect(try await store.count(.exact(300, path: "n"), in: "a") == 0)
        let stopped = try await open(scratch, stoppingAt: stop)
        let stopCode = await code { try await stopped.reindexSoup("a") }
        #expect(stopCode == (stop <= 5 ? .interrupted : nil))
        try await stopped.upsert([document(600)], in: "a")
        let again = try await open(scratch)
        #expect(try await !again.attributes(of: "a").isBeingAltered)
        for number in [1, 300, 448, 600] as [Int64] {
            #expect(try await again.count(.exact(.integer(number), path: "n"), in: "a") == 1)
            #expect(try await again.count(.match("old\(number)"), in: "a") == 1)
        }
        #expect(try await again.count(.match("lost"), in: "a") == 0)
    }

    @Test("reindexSoup takes paths, and refuses those that are no index")
    func reindexSoupPaths() async throws {
        let store = try await SoupStore.people()
        try await store.write { try $0.execute(sql: "UPDATE coffer_soup_1 SET c1 = 'x', c2 = 1") }
        try await store.reindexSoup("people", paths: ["Name", "Owner.Name"])
        #expect(try await store.count(.exact("Ada", path: "Name"), in: "people") == 1)
        #expect(try await store.count(.exact(1, path: "Age"), in: "people") == 5)
        #expect(await code { try await store.reindexSoup("people", paths: ["Shoe"]) } == .invalidInput)
        #expect(await code { try await store.reindexSoup("x") } == .absent)
        try await store.reindexSoup("people", paths: [])
    }
}
