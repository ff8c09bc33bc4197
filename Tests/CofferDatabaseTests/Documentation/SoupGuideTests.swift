import CofferDatabase
import Foundation
import GRDB
import TestSupport
import Testing

/// What the article on soups shows is run, and is what it shows.
@Suite("Documents: the article on soups")
struct SoupGuideTests {
    @Test("The article's code, from the first soup to retention")
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

    @Test("What is printed is what was compiled")
    func printed() throws {
        let article = try lines(of: "Sources/CofferDatabase/CofferDatabase.docc/Soups.md")
        let code = try lines(of: "Tests/CofferDatabaseTests/Documentation/SoupGuide.swift")
        let shown = try blocks(article, from: { $0 == "```swift" }, to: "```")
        let compiled = try blocks(code, from: { $0.hasPrefix("// snippet: ") }, to: "// snippet end")
        #expect(shown.count == 9)
        for (name, text) in shown {
            let snippet = try #require(compiled[name], "There is no snippet \(name).")
            #expect(text == snippet, "The article shows another \(name).")
        }
    }

    private func lines(of path: String) throws -> [String] {
        try String(contentsOfFile: PackageRoot.path + path, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The lines between markers, by the name in their `// snippet:`, without indentation.
    private func blocks(
        _ lines: [String], from isStart: (String) -> Bool, to end: String
    ) throws -> [String: [String]] {
        var blocks: [String: [String]] = [:]
        var block: [String]?
        for line in lines {
            let text = line.trimmingCharacters(in: .whitespaces)
            if block == nil, isStart(text) {
                block = text.hasPrefix("// ") ? [line] : []
            } else if text == end, let found = block {
                let first = try #require(found.first)
                let indent = first.prefix { $0 == " " }.count
                let name = first.trimmingCharacters(in: .whitespaces)
                blocks[name] = found.dropFirst().map { String($0.dropFirst(indent)) }
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }
}
