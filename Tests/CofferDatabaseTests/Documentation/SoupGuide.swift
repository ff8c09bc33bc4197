import CofferDatabase
import Foundation
import GRDB

/// The code of `Soups.md`, between markers, as it stands there.
enum SoupGuide {
    static func open(_ database: any DatabaseWriter) async throws -> SoupStore {
        // snippet: open
        let store = try await SoupStore.open(on: database)
        try await store.registerSoup(
            "accounts",
            indexSpecs: [
                IndexSpec("Id", .string), IndexSpec("Rating", .integer), IndexSpec("Owner.Name", .string),
                IndexSpec("Name", .string), IndexSpec("Notes", .fullText),
            ])
        // snippet end
        return store
    }

    static func upsert(_ store: SoupStore) async throws -> Int64? {
        // snippet: upsert
        let stored = try await store.upsert(
            [["Id": "new", "Name": "Cloud Inc", "Rating": 3, "Owner": ["Name": "Ada"]]], in: "accounts")
        let id = stored[0].soupEntryID
        // snippet end
        return id
    }

    static func external(_ store: SoupStore) async throws {
        // snippet: external
        try await store.upsert(
            [["Id": "001A", "Name": "Cloud Inc", "Rating": 4, "Notes": "moved to the harbour"]],
            in: "accounts", externalIDPath: "Id")
        // snippet end
    }

    static func query(_ store: SoupStore) async throws -> [JSONValue] {
        // snippet: query
        let cursor = try await store.query(
            .range(from: 3, to: nil, path: "Rating", order: .descending), in: "accounts")
        let first = await cursor.currentPage
        while try await cursor.moveToNextPage() {
            let page = await cursor.currentPage
            assert(page.count <= cursor.pageSize)
        }
        // snippet end
        return first
    }

    static func entries(_ store: SoupStore) async throws -> [String] {
        // snippet: entries
        var names: [String] = []
        for try await document in store.entries(matching: .like("Cloud%", path: "Name"), in: "accounts") {
            names.append(document["Name"]?.string ?? "")
        }
        // snippet end
        return names
    }

    static func smart(_ store: SoupStore) async throws {
        // snippet: smart
        let query = try SmartQuery(
            "SELECT {accounts:Owner.Name}, count(*) FROM {accounts} WHERE {accounts:Rating} > ? GROUP BY 1",
            arguments: [2])
        for try await row in store.rows(of: query) {
            assert(row.count == 2)
        }
        // snippet end
    }

    static func codable(_ store: SoupStore) async throws -> [String] {
        // snippet: codable
        struct Note: Codable, Sendable {
            var title: String
            var due: Date
        }
        try await store.registerSoup(
            "notes", indexSpecs: [IndexSpec("title", .string), IndexSpec("due", .integer)])
        try await store.put(Note(title: "call the harbour", due: .now), in: "notes")
        let notes = try await store.all(Note.self, in: "notes")
        // snippet end
        return notes.map(\.title)
    }

    static func alter(_ store: SoupStore) async throws {
        // snippet: alter
        try await store.alterSoup(
            "accounts", indexSpecs: [IndexSpec("Id", .string), IndexSpec("Name", .fullText)])
        // snippet end
    }

    static func retain(_ store: SoupStore) async throws -> RetentionReport {
        // snippet: retain
        try await store.markViewed([1], in: "accounts")
        let report = try await store.retain(RetentionPolicy(), in: "accounts")
        // snippet end
        return report
    }
}
