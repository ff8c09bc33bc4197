import CofferDatabase
import Foundation
import GRDB
import Testing
import TestSupport

/// Runs the code of the article on soups, and compares it with the article.
@Suite("Documents: the article on soups")
struct SoupGuideTests {
    @Test("The article's code runs from the first soup to retention")
    func article() async throws {
        let store = try await SoupGuide.open(try DatabaseQueue())
        #expect(try await SoupGuide.upsert(store) == 1)
        try await SoupGuide.external(store)
        #expect(try await SoupGuide.query(store).map { $0["Id"] } == ["001A", "new"])
        #expect(try await SoupGuide.entries(store) == ["Cloud Inc", "Cloud Inc"])
        try await SoupGuide.smart(store)
        #expect(try await SoupGuide.codable(store) == ["call the harbour"])
        try await SoupGuide.alter(store)
        #expect(try await store.count(.match("cloud"), in: "accounts") == 2)
        #expect(try await SoupGuide.retain(store).remaining == 2)
    }

    @Test("The article prints the code that was compiled")
    func printed() throws {
        let article = "Sources/CofferDatabase/CofferDatabase.docc/Soups.md"
        let shown = try Snippets.shown(in: article)
        let compiled = try Snippets.compiled(in: ["Tests/CofferDatabaseTests/Documentation/SoupGuide.swift"])
        #expect(try shown.count == 9 && Snippets.blockCount(in: article) == 9)
        for (name, text) in shown {
            let snippet = try #require(compiled[name], "There is no snippet \(name).")
            #expect(text == snippet, "The article shows another \(name).")
        }
    }
}
