import CofferBase
import CofferDatabase
import Testing

/// Text that becomes SQL: an accent behind a mark hides it from Swift's characters and not from SQLite.
@Suite("Marks under an accent")
struct SoupByteTests {
    private let accent = "\u{301}"

    @Test("A path with an apostrophe and an accent stays inside its quotation")
    func apostrophe() async throws {
        let store = try await SoupStore.insecureInMemory()
        // Were the mark not doubled, the quotation would end at it.
        let paths = ["it'\(accent)s", "'\(accent)'", "x'\(accent), 'y"]
        try await store.registerSoup("a", indexSpecs: paths.map { IndexSpec($0, .json1) })
        for path in paths {
            let stored = try await store.upsert([.object([path: .string("v")])], in: "a")[0]
            let found = try await store.lookupEntryID(in: "a", path: path, value: "v")
            #expect(found == stored.soupEntryID, "\(path)")
        }
    }

    @Test("A json1 path has no quotation mark or backslash under an accent either")
    func quotationMark() async throws {
        let store = try await SoupStore.insecureInMemory()
        for path in ["a\"\(accent)b", "a\\\\\(accent)b"] {
            let specs = [IndexSpec(path, .json1)]
            let error = await code { try await store.registerSoup("a", indexSpecs: specs) }
            #expect(error == .invalidInput, "\(path)")
        }
    }

    @Test("A quotation mark under an accent does not end a word that a person typed")
    func words() async throws {
        let typed = "say\"\(accent) OR x"
        #expect(QuerySpec.words(typed).utf8.elementsEqual("\"say\"\"\(accent)\" \"OR\" \"x\"".utf8))
        let store = try await SoupStore.people()
        for text in ["\"\(accent)", "\"\(accent) OR engines", "engines\"\(accent) OR poems"] {
            #expect(await code { try await store.count(.match(QuerySpec.words(text)), in: "people") } == nil)
        }
    }
}
