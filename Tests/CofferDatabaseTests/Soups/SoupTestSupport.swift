import CofferBase
import CofferDatabase
import CofferTesting
import GRDB
import SystemPackage
import Testing
import TestSupport

/// The kinds of database that a store lies in; what holds for one holds for all.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memory, queue, pool, encryptedQueue, encryptedPool

    var testDescription: String { rawValue }

    static let inFiles = allCases.filter { $0 != .memory }

    /// Opens a store. Stores opened on the same file share its contents.
    func open(in scratch: borrowing ScratchDirectory, clock: TestClock = TestClock()) async throws
        -> SoupStore
    {
        try await SoupStore.open(on: try database(in: scratch), clock: clock.source)
    }

    func database(in scratch: borrowing ScratchDirectory) throws -> any DatabaseWriter {
        switch self {
        case .memory: try DatabaseQueue()
        case .queue: try DatabaseQueue(path: scratch.path(of: "soups.db"))
        case .pool: try DatabasePool(path: scratch.path(of: "soups.db"))
        case .encryptedQueue:
            try EncryptedDatabase.queue(at: scratch.path.appending("soups.db"), key: databaseKey())
        case .encryptedPool:
            try EncryptedDatabase.pool(at: scratch.path.appending("soups.db"), key: databaseKey())
        }
    }
}

/// The code that `body` fails with; `nil` when it succeeds or throws something else.
func code<Value>(of body: () async throws -> Value) async -> CofferError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? CofferError)?.code
    }
}

extension SoupStore {
    /// The names of the documents on all pages of a query.
    func names(_ spec: QuerySpec, in soup: String, path: String = "Name") async throws -> [String?] {
        var names: [String?] = []
        for try await document in entries(matching: spec, in: soup) { names.append(document[path]?.string) }
        return names
    }

    /// A store in memory with a soup of five people.
    static func people() async throws -> SoupStore {
        let store = try await SoupStore.insecureInMemory(clock: TestClock().source)
        try await store.registerSoup("people", indexSpecs: peopleSpecs)
        try await store.upsert(people, in: "people")
        return store
    }

    static let peopleSpecs = [
        IndexSpec("Name", .string), IndexSpec("Age", .integer), IndexSpec("Height", .floating),
        IndexSpec("Notes", .fullText), IndexSpec("Owner.Name", .json1),
    ]

    static let people: [JSONValue] = [
        ["Name": "Ada", "Age": 36, "Height": 1.65, "Notes": "engines and poems", "Owner": ["Name": "Byron"]],
        ["Name": "Grace", "Age": 85, "Height": 1.68, "Notes": ["compilers", "ships"]],
        ["Name": "alan", "Age": 41, "Height": 1.78, "Notes": "engines, running", "Owner": ["Name": "Max"]],
        ["Name": "Edsger", "Age": 72, "Notes": nil],
        ["Name": "Émilie", "Age": 43, "Height": 1.6],
    ]
}
