import CofferBase
import CofferDatabase
import TestSupport
import Testing

@Suite("Secure local storage")
struct SecureLocalStorageTests {
    @Test("Texts are set, replaced, got, listed and removed", arguments: StoreKind.allCases)
    func items(_ kind: StoreKind) async throws {
        let scratch = try ScratchDirectory.make()
        let storage = try await SecureLocalStorage.open(in: try await kind.open(in: scratch))
        #expect(try await storage.getItem("a") == nil)
        try await storage.setItem("a", "1")
        try await storage.setItem("b", "")
        try await storage.setItem("a", "2")
        #expect(try await storage.getItem("a") == "2")
        #expect(try await storage.getItem("b") == "")
        #expect(try await storage.keys() == ["a", "b"])
        #expect(try await storage.length() == 2)
        #expect(try await storage.key(at: 1) == "b")
        #expect(try await storage.key(at: 2) == nil)
        #expect(try await storage.key(at: -1) == nil)
        #expect(try await storage.removeItem("a"))
        #expect(try await !storage.removeItem("a"))
        #expect(try await storage.getItem("a") == nil)
        try await storage.clear()
        #expect(try await storage.length() == 0)
    }

    @Test(
        "Any text is a key and a value",
        arguments: [
            "", " ", "=", "'; DROP TABLE x; --", "%", "{a:b}", "é", "e\u{301}", "\u{301}", "😀", "a\u{0}b",
            "a\u{0}",
            "\n", "_soupEntryId",
        ])
    func awkwardKeys(_ key: String) async throws {
        let storage = try await SecureLocalStorage.open(in: try await SoupStore.insecureInMemory())
        try await storage.setItem(key, key)
        try await storage.setItem(key + "x", "other")
        let found = try await storage.getItem(key)
        #expect(found.map { Array($0.utf8) } == Array(key.utf8))
        #expect(
            try await storage.keys().map { Array($0.utf8) } == [Array(key.utf8), Array((key + "x").utf8)])
        #expect(try await storage.removeItem(key))
        #expect(try await storage.length() == 1)
    }

    @Test("Storages of two soups are apart, and a soup of another kind is not taken")
    func soups() async throws {
        let store = try await SoupStore.insecureInMemory()
        let one = try await SecureLocalStorage.open(in: store)
        let two = try await SecureLocalStorage.open(in: store, soup: "two")
        try await one.setItem("a", "1")
        #expect(try await two.getItem("a") == nil)
        #expect(try await SecureLocalStorage.open(in: store).getItem("a") == "1")
        #expect(try await store.soupNames() == ["localStorage", "two"])
        try await store.registerSoup("three", indexSpecs: [IndexSpec("a", .string)])
        #expect(await code { try await SecureLocalStorage.open(in: store, soup: "three") } == .alreadyExists)
        #expect(await code { try await SecureLocalStorage.open(in: store, soup: "") } == .invalidInput)
    }
}
