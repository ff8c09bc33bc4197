import CofferBase
import CofferDatabase
import Testing
import TestSupport

@Suite("Soups: many at once")
struct SoupConcurrencyTests {
    @Test("Tasks over two stores on one file add every entry once", arguments: StoreKind.inFiles)
    func writers(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        // Two queues on one file would wait for each other's locks; one store serves both tasks then.
        let one = try await kind.open(in: scratch)
        let two = kind == .pool || kind == .encryptedPool ? try await kind.open(in: scratch) : one
        try await one.registerSoup("a", indexSpecs: [IndexSpec("k", .string), IndexSpec("n", .integer)])
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                let store = task % 2 == 0 ? one : two
                group.addTask {
                    for number in 0..<25 {
                        let document: JSONValue = ["k": .string("\(number)"), "n": .integer(Int64(task))]
                        try await Self.persistently {
                            try await store.upsert([document], in: "a", externalIDPath: "k")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await one.count(in: "a") == 25)
        #expect(try await two.all(Entry.self, in: "a").map(\._soupEntryId).sorted() == Array(1...25))
    }

    private struct Entry: Codable { var _soupEntryId: Int64 }

    /// Repeats a call until it does not throw `busy`, which another connection can cause at any time.
    private static func persistently<Value>(_ body: () async throws -> Value) async throws {
        for _ in 0..<10_000 {
            guard await code(of: body) == .busy else { return }
            await Task.yield()
        }
        Issue.record("always busy")
    }

    @Test("A soup may be altered while others write; nothing is lost", arguments: StoreKind.allCases)
    func alterAmongWriters(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let store = try await kind.open(in: scratch)
        try await store.registerSoup("a", indexSpecs: [IndexSpec("k", .string)])
        try await store.upsert((0..<1000).map { ["k": .string("\($0)")] }, in: "a")
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await store.alterSoup(
                    "a", indexSpecs: [IndexSpec("k", .fullText), IndexSpec("n", .integer)])
            }
            group.addTask {
                for number in 1000..<1100 { try await store.upsert([["k": .string("\(number)")]], in: "a") }
            }
            group.addTask {
                for id in 1...50 as ClosedRange<Int64> { try await store.remove([id], from: "a") }
            }
            try await group.waitForAll()
        }
        #expect(try await store.count(in: "a") == 1050)
        #expect(try await store.count(.match("1099"), in: "a") == 1)
        #expect(try await store.count(.match("49"), in: "a") == 0)
        #expect(try await store.count(.match("50"), in: "a") == 1)
    }

    @Test("A cancelled task has done nothing")
    func cancellation() async throws {
        let store = try await SoupStore.people()
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            return await code { try await store.upsert([["Name": "late"]], in: "people") }
        }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        #expect(try await store.count(in: "people") == 5)
    }
}
