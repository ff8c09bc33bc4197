import CofferBase
import CofferDatabase
import Dispatch
import GRDB
import Synchronization

/// The modes that change a soup's indexes, to be killed on the way.
struct SoupAgent {
    let queue: DatabaseQueue

    private static let soup = "notes"
    private static let count = 450
    private static let few = [IndexSpec("name", .string)]
    private static let many = [
        IndexSpec("name", .string), IndexSpec("number", .integer), IndexSpec("text", .fullText),
    ]

    /// Makes a soup with entries.
    func make() throws {
        try Self.blocking { () async throws(CofferError) in
            let store = try await SoupStore.open(on: queue)
            try await store.registerSoup(Self.soup, indexSpecs: Self.few)
            let entries: [JSONValue] = (0..<Self.count).map {
                [
                    "name": .string("n\($0 % 10)"), "number": .integer(Int64($0 % 9)),
                    "text": .string("word \($0)"),
                ]
            }
            try await store.upsert(entries, in: Self.soup)
        }
        DatabaseAgent.say("made")
    }

    /// Gives the soup the indexes that it does not have.
    func alter() throws {
        try Self.blocking { () async throws(CofferError) in
            let store = try await SoupStore.open(on: queue)
            let isSmall = try await store.indexSpecs(of: Self.soup).count == Self.few.count
            try await store.alterSoup(Self.soup, indexSpecs: isSmall ? Self.many : Self.few)
        }
        DatabaseAgent.say("done")
    }

    /// Opens the store, which goes on with what was interrupted, and says what is there.
    func check() throws {
        try Self.blocking { () async throws(CofferError) in
            let store = try await SoupStore.open(on: queue)
            let indexes = try await store.indexSpecs(of: Self.soup)
            DatabaseAgent.say("indexes \(indexes.count == Self.few.count ? "few" : "many")")
            DatabaseAgent.say("entries \(try await store.count(in: Self.soup))")
            var wrong = 0
            let named = QuerySpec.exact(.string("n3"), path: "name")
            if try await store.count(named, in: Self.soup) != Self.count / 10 { wrong += 1 }
            if indexes.count > Self.few.count {
                let numbered = QuerySpec.exact(.integer(4), path: "number")
                if try await store.count(numbered, in: Self.soup) != Self.count / 9 { wrong += 1 }
                let found = QuerySpec.match("word", path: "text")
                if try await store.count(found, in: Self.soup) != Self.count { wrong += 1 }
            }
            DatabaseAgent.say("wrong \(wrong)")
        }
        let integrity = try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") }
        DatabaseAgent.say("integrity \(integrity ?? "none")")
    }

    /// Waits for `body`: this program's main thread does nothing else.
    static func blocking(_ body: @escaping @Sendable () async throws(CofferError) -> Void) throws {
        let outcome = Mutex<Result<Void, CofferError>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            let result: Result<Void, CofferError>
            do throws(CofferError) {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        try outcome.withLock { $0 }?.get()
    }
}
